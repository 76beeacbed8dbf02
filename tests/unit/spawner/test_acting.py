"""How the Hub acts as its users: the choice, whom it refuses, and what is said of a launcher that cannot be used."""

import asyncio
import json
import os
import pwd
import signal
from types import SimpleNamespace

import pytest

from siflab.errors import Internal
from siflab.slurm.execute import PosixUser, Slurm
from siflab_spawner.accounts import acting, as_user, launcher, launcher_checks
from siflab_spawner.accounts.acting import Acting, choose
from siflab_spawner.accounts.as_user import find_user, run_task
from siflab_spawner.accounts.launcher import Launcher

ALICE = PosixUser("user1", 5001, 5001, (5001, 700), "/home/user1", "/bin/bash")


@pytest.fixture(autouse=True)
def _as_before(monkeypatch):
    monkeypatch.setattr(acting, "_chosen", None)
    monkeypatch.setattr(as_user, "_known", {})


def as_uid(monkeypatch, uid):
    monkeypatch.setattr(os, "geteuid", lambda: uid)


CHOICES = [
    (0, "auto", False, None), (0, "auto", True, None), (0, "root", True, None), (0, "self", True, None), (0, "launcher", True, "needs no launcher"),
    (998, "auto", True, "examined"), (998, "launcher", True, "examined"), (998, "launcher", False, "examined"),
    (998, "auto", False, "launcher/install"), (998, "root", True, "launcher/install"), (998, "self", True, None),
]  # fmt: skip


@pytest.mark.parametrize(("uid", "way", "installed", "words"), CHOICES)
def test_the_choice(monkeypatch, tmp_path, uid, way, installed, words):
    as_uid(monkeypatch, uid)

    def examined(program):
        raise Internal(acting.Text("examined", "examined"))

    monkeypatch.setattr(acting, "examine", examined)
    program = tmp_path / "siflab-launcher"
    if installed:
        program.touch()
    if words is None:
        assert choose(way, str(program)) == Acting()
    else:
        with pytest.raises(Internal, match=words) as caught:
            choose(way, str(program))
        assert caught.value.message.zh


def made(tmp_path, lines="exit 0"):
    """A launcher behind a sudo of the test's."""
    sudo = tmp_path / "sudo"
    sudo.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$@\" > {tmp_path}/argv\ncat > {tmp_path}/stdin\n{lines}\n")
    sudo.chmod(0o755)
    return Launcher("/launcher", str(sudo), "lab", 700, 1000)


REFUSALS = [
    (ALICE, None), (PosixUser("user2", 5002, 5002, (5002,), "/home/user2", "/bin/sh"), "not in the group 'lab'"),
    (PosixUser("daemon", 1, 1, (1, 700), "/", "/bin/sh"), "system account"), (PosixUser("root", 0, 0, (0, 700), "/root", "/bin/sh"), "root"),
]  # fmt: skip


@pytest.mark.parametrize(("user", "words"), REFUSALS, ids=lambda value: getattr(value, "name", value))
def test_whom_the_launcher_does_not_serve(tmp_path, user, words):
    refusal = Acting(made(tmp_path)).refusal(user)
    assert refusal is None if words is None else words in refusal.en and refusal.zh


@pytest.mark.asyncio
async def test_a_member_of_the_group_from_now_on_is_served_at_the_next_attempt(monkeypatch, tmp_path):
    monkeypatch.setattr(acting, "_chosen", Acting(made(tmp_path)))
    groups = [5001]
    monkeypatch.setattr(
        PosixUser, "find", lambda name: PosixUser(name, 5001, 5001, tuple(groups), "/home/user1", "/bin/sh")
    )
    with pytest.raises(Internal, match="not in the group"):
        await find_user("user1")
    groups.append(700)
    assert (await find_user("user1")).groups == (5001, 700)


NAMES = [
    ("user1", "User1"),
    ("domain+user1", "DOMAIN+user1"),
    ("user.one", "user.one"),
    ("用户1", "用户1"),
    ("user one", "user one"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("hub", "account"), NAMES)
async def test_the_account_has_the_name_that_the_directory_gives(monkeypatch, hub, account):
    entry = SimpleNamespace(pw_name=account, pw_uid=5001, pw_gid=5001, pw_dir="/home/x", pw_shell="")
    monkeypatch.setattr(pwd, "getpwnam", lambda name: {hub: entry}[name])
    monkeypatch.setattr(os, "getgrouplist", lambda name, gid: {account: [gid]}[name])
    as_uid(monkeypatch, 0)
    user = await find_user(hub)
    assert (user.name, user.groups, user.shell) == (account, (5001,), "/bin/sh")
    assert Slurm().environment(user)["LOGNAME"] == account


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["a\0b", "no-such-account", "\ud800", ""])
async def test_a_name_that_no_account_has(name):
    with pytest.raises(Internal, match="no account"):
        await find_user(name)


def says(tmp_path, answer, code=0, stderr=""):
    (tmp_path / "answer").write_text(answer if isinstance(answer, str) else json.dumps(answer))
    return f"cat {tmp_path}/answer; printf '%s' '{stderr}' >&2; exit {code}"


GOOD = {"version": 1, "returncode": 3, "stdout": "out\n", "stderr": "err\n"}


@pytest.mark.asyncio
async def test_a_command_goes_through_sudo_and_comes_back(tmp_path):
    slurm = Slurm(through=made(tmp_path, says(tmp_path, GOOD)))
    done = await slurm.arun(["scancel", "5"], user=ALICE, timeout=7.5)
    assert (done.argv, done.returncode, done.stdout, done.stderr) == (("scancel", "5"), 3, "out\n", "err\n")
    assert (tmp_path / "argv").read_text().split("\n")[:-1] == ["-n", "-u", "user1", "--", "/launcher"]
    request = json.loads((tmp_path / "stdin").read_text())
    assert request == {
        "version": 1,
        "user": "user1",
        "timeout": 8,
        "command": "cancel",
        "jobs": ["5"],
        "signal": None,
        "flags": [],
    }


ANSWERS = [
    ({"version": 1, "refused": "request", "message": "no"}, 3, "", 1, "no"),
    ("", 1, "sudo: a password is required", 1, "password"),
    ("", 1, "Sorry, user x is not allowed to execute y as z on h.", 1, "not allowed"),
    ("", 142, "Alarm clock", 124, "Alarm clock"), ("{", 0, "", 124, "exit code 0"), ("[]", 0, "", 124, "exit code 0"),
    ({"version": 2, "returncode": 0, "stdout": "", "stderr": ""}, 0, "", 124, ""), ({"version": 1}, 0, "", 124, ""),
    ({"version": 1, "returncode": "0", "stdout": "", "stderr": ""}, 0, "", 124, "read"), ("[" * 100000, 0, "", 124, ""),
]  # fmt: skip


@pytest.mark.asyncio
@pytest.mark.parametrize("number", range(len(ANSWERS)))
async def test_no_is_told_apart_from_no_answer(tmp_path, number):
    answer, code, stderr, expected, words = ANSWERS[number]
    slurm = Slurm(through=made(tmp_path, says(tmp_path, answer, code, stderr)))
    done = await slurm.arun(["scancel", "5"], user=ALICE)
    assert done.returncode == expected and words in done.stderr
    assert done.unreachable == (expected == 124), "an sbatch that may have run is looked for"


@pytest.mark.asyncio
async def test_a_job_that_sudo_refuses_is_told_to_the_user(tmp_path):
    slurm = Slurm(through=made(tmp_path, "echo 'sudo: a password is required' >&2; exit 1"))
    with pytest.raises(Internal, match="may not act as 'user1'") as caught:
        await slurm.arun(["sbatch"], user=ALICE, stdin="#!/bin/sh\n")
    assert "password" in caught.value.message.zh
    done = await slurm.arun(["sbatch", "--test-only"], user=ALICE, stdin="#!/bin/sh\n")
    assert done.returncode == 1 and not done.unreachable, "an estimate is only not there"


@pytest.mark.asyncio
@pytest.mark.parametrize("name", ["#0", "-u"])
async def test_a_name_that_sudo_would_take_for_something_else(tmp_path, name):
    user = PosixUser(name, 5001, 5001, (700,), "/", "/bin/sh")
    done = await Slurm(through=made(tmp_path)).arun(["scancel", "5"], user=user)
    assert done.returncode == 1 and not (tmp_path / "argv").exists()


@pytest.mark.asyncio
async def test_what_is_no_command_of_the_launcher_is_not_run(tmp_path):
    done = await Slurm(through=made(tmp_path)).arun(["srun", "id"], user=ALICE)
    assert done.returncode == 1 and not (tmp_path / "argv").exists()


@pytest.mark.asyncio
async def test_a_launcher_that_never_answers_is_given_up(tmp_path, monkeypatch):
    monkeypatch.setattr(launcher, "_GRACE", -0.8)
    done = await Slurm(through=made(tmp_path, f"echo $$ > {tmp_path}/pid; exec sleep 60")).arun(
        ["scancel", "5"], user=ALICE, timeout=1
    )
    assert done.returncode == 124 and done.unreachable
    (waiting,) = launcher._left
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.01)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    await waiting
    assert not launcher._left, "it is reaped when it ends"


@pytest.mark.asyncio
async def test_tasks_go_through_it(tmp_path, monkeypatch):
    through = made(tmp_path, says(tmp_path, {"version": 1, "answer": {"text": "end", "words": ""}}))
    monkeypatch.setattr(acting, "_chosen", Acting(through))
    assert (await run_task(Slurm(), ALICE, "tail", path="/home/user1/5.log", limit=10))["text"] == "end"
    request = json.loads((tmp_path / "stdin").read_text())
    assert (request["command"], request["path"], request["limit"]) == ("log-tail", "/home/user1/5.log", 10)
    await run_task(Slurm(), ALICE, "prepare", log_folder="/x", image="/i", sources=[], keep_days=1)
    assert set(json.loads((tmp_path / "stdin").read_text())) == {
        "version",
        "user",
        "timeout",
        "command",
        "image",
        "sources",
        "keep_days",
    }
    (tmp_path / "answer").write_text("")
    with pytest.raises(Internal, match="could not be looked at"):
        await run_task(Slurm(), ALICE, "tail", path="/home/user1/5.log", limit=10)


SPOILED = [
    (lambda p: p.chmod(0o775), "cannot be trusted"), (lambda p: p.chmod(0o757), "cannot be trusted"),
    (lambda p: p.parent.chmod(0o777), "cannot be trusted"), (lambda p: p.rename(p.with_name("x")).rename(p) and p.chmod(0o644), "cannot be executed"),
    (lambda p: (p.rename(p.with_name("x")), p.symlink_to(p.with_name("x"))), "cannot be trusted"), (lambda p: p.unlink(), "no launcher"),
    (lambda p: p.write_text("#!/bin/sh\nexit 1\n"), "does not answer"), (lambda p: p.write_text("#!/bin/sh\necho '{\"version\":7}'\n"), "version 7"),
    (lambda p: p.write_text("#!/bin/sh\necho '{\"version\":1,\"refused\":\"config\",\"message\":\"bad\"}'\n"), "bad"),
    (lambda p: p.write_text('#!/bin/sh\necho \'{"version":1,"refused":"caller","served":{"account":"x","group":"g","min_uid":1}}\'\n'), "'x'"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SPOILED)))
def test_what_is_wrong_with_an_installed_launcher(tmp_path, number):
    spoil, words = SPOILED[number]
    program = tmp_path / "libexec" / "siflab-launcher"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    spoil(program)
    with pytest.raises(Internal, match=words) as caught:
        launcher_checks.examine(str(program), owner=os.geteuid())
    assert caught.value.message.zh


@pytest.mark.parametrize(
    ("name", "uid", "served"),
    [("user1", 1000, True), ("user1", 70000, True), ("user1", 2_000_000_000, True), ("daemon", 1, False), ("www-data", 33, False),
     ("munge", 103, False), ("slurm", 64030, False), ("nobody", 65534, False), ("user1", 65535, False), ("slurm", 2000, False)],
)  # fmt: skip
def test_a_hub_that_is_root_serves_people_only(monkeypatch, name, uid, served):
    as_uid(monkeypatch, 0)
    refusal = Acting().refusal(PosixUser(name, uid, uid, (uid,), "/home/x", "/bin/sh"))
    assert (refusal is None) is served
    assert served or "account of the system" in refusal.en


def test_a_hub_that_serves_its_own_account_may_be_a_service(monkeypatch):
    as_uid(monkeypatch, 998)
    assert Acting().refusal(PosixUser("jupyterhub", 998, 998, (998,), "/srv", "/bin/sh")) is None
