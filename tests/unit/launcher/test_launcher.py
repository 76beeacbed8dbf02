"""What the launcher does for the Hub's account, and all that it refuses."""

import ast
import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.launcher.conftest import ACCOUNT, CALLER, IS_ROOT, SOURCE

OPTIONS = {"comment": "siflab:here:user1::ab", "job-name": "siflab-session", "output": "/home/a b/%j.log", "chdir": "/home/a b",
           "gres": "gpu:a100:2", "time": "2:00:00", "nodes": "1-2", "no-requeue": True, "mem": "4G"}  # fmt: skip
SUBMIT = {"command": "submit", "options": OPTIONS, "script": "#!/bin/sh\necho 训练\n"}
CANCEL = {"command": "cancel", "jobs": ["12", "13"], "signal": None, "flags": []}
QUEUE = {"command": "queue", "tool": "squeue", "fields": ["%A", "%.18i"], "jobs": [], "clusters": None}
PREPARE = {"command": "prepare", "image": "/no/image.sif", "sources": ["/", "/no/such"], "keep_days": 30}
TAIL = {"command": "log-tail", "path": ACCOUNT.pw_dir.rstrip("/") + "/x.log", "limit": 100}
needs_root = pytest.mark.skipif(not IS_ROOT, reason="takes root: another account is needed")

COMMANDS = [
    (SUBMIT, ["sbatch", "--parsable", "--export=ALL", "--chdir=/home/a b", "--comment=siflab:here:user1::ab",
              "--gres=gpu:a100:2", "--job-name=siflab-session", "--mem=4G", "--no-requeue", "--nodes=1-2",
              "--output=/home/a b/%j.log", "--time=2:00:00"]),
    ({**SUBMIT, "command": "estimate", "options": {}}, ["sbatch", "--parsable", "--export=ALL", "--test-only"]),
    (CANCEL, ["scancel", "12", "13"]),
    ({**CANCEL, "jobs": ["12;east", "13;east"]}, ["scancel", "--clusters=east", "12", "13"]),
    ({**CANCEL, "signal": "USR1", "flags": ["batch"]}, ["scancel", "--signal=USR1", "--batch", "12", "13"]),
    (QUEUE, ["squeue", "--noheader", "--states=all", "--array", "--format=%A\x1f%.18i", f"--user={ACCOUNT.pw_uid}"]),
    ({**QUEUE, "jobs": ["5", "6"], "clusters": "all"},
     ["squeue", "--clusters=all", "--noheader", "--states=all", "--array", "--format=%A\x1f%.18i", "--jobs=5,6"]),
    ({**QUEUE, "tool": "scontrol", "fields": [], "jobs": ["5"]}, ["scontrol", "--oneliner", "show", "job", "5"]),
    ({**QUEUE, "tool": "sacct", "fields": ["JobIDRaw", "State"], "jobs": ["5"]},
     ["sacct", "--noheader", "--parsable2", "--delimiter=\x1f", "--format=JobIDRaw,State", "--jobs=5"]),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "argv"), COMMANDS, ids=[f"{c[0]['command']}-{i}" for i, c in enumerate(COMMANDS)])
def test_the_command_that_is_run(launcher, request_, argv):
    launcher.behave("echo out; echo err >&2; exit 3")
    assert launcher.ask(request_) == {"returncode": 3, "stdout": "out\n", "stderr": "err\n"}
    assert launcher.argv() == argv
    assert (launcher.seen / "stdin").read_text() == request_.get("script", "")


def test_nothing_of_the_caller_reaches_the_command(launcher):
    launcher.write_settings(slurm_conf="/etc/slurm/other.conf")
    hostile = dict.fromkeys(("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "LD_AUDIT", "SLURM_CONF", "SBATCH_PARTITION",
                             "BASH_ENV", "ENV", "TZ", "LC_ALL", "HOME"), str(launcher.folder / "hostile"))  # fmt: skip
    (launcher.folder / "hostile").mkdir()
    for name in ("json.py", "sitecustomize.py", "usercustomize.py"):
        (launcher.folder / "hostile" / name).write_text("raise SystemExit('hostile')")
    launcher.ask(SUBMIT, **hostile)
    env = launcher.env()
    for name in ("PWD", "OLDPWD", "SHLVL", "_"):  # the fake command's own shell
        env.pop(name, None)
    assert env == {
        "HOME": ACCOUNT.pw_dir, "USER": ACCOUNT.pw_name, "LOGNAME": ACCOUNT.pw_name, "SHELL": ACCOUNT.pw_shell,
        "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
        "SLURM_CONF": "/etc/slurm/other.conf",
    }  # fmt: skip
    assert (launcher.text("cwd"), launcher.text("umask")) == ("/", "0077")
    assert set(launcher.text("fds").split()) <= {"0", "1", "2", "3"}, "3 is the folder that ls reads"


def changed(request, **changes):
    return {key: value for key, value in {**request, **changes}.items() if value != "LEAVE OUT"}


def with_option(name, value):
    return changed(SUBMIT, options={name: value})


REFUSED = [
    with_option("wrap", "id"), with_option("uid", "0"), with_option("gid", "0"), with_option("export", "ALL"),
    with_option("export-file", "/etc/passwd"), with_option("get-user-env", True), with_option("bcast", "/x"),
    with_option("parsable", True), with_option("comment=x --wrap", "id"), with_option("--wrap", "id"), with_option("", "x"),
    with_option("no-requeue", "x"), with_option("no-requeue", False), with_option("no-requeue", 1),
    with_option("comment", "a\nb"), with_option("comment", "a\0b"), with_option("comment", "\x1b[2J"), with_option("comment", "x" * 1025),
    with_option("comment", ["x"]), with_option("comment", None), with_option("comment", {"x": 1}), with_option("comment", "\ud800"),
    with_option("cpus-per-task", "1 --uid=0"), with_option("cpus-per-task", 4), with_option("cpus-per-task", "٤"),
    with_option("cpus-per-task", ""), with_option("time", "1h"), with_option("mem", "-1"), with_option("nodes", "1\n"),
    with_option("output", "relative.log"), with_option("chdir", ""), with_option("partition", "a b"), with_option("gres", "$(id)"),
    changed(SUBMIT, options=[]), changed(SUBMIT, options="--wrap=id"), changed(SUBMIT, options=None),
    changed(SUBMIT, script=None), changed(SUBMIT, script=["x"]), changed(SUBMIT, script="a\0b"), changed(SUBMIT, script="\ud800"),
    changed(SUBMIT, script="LEAVE OUT"), changed(SUBMIT, extra=1), changed(SUBMIT, argv=["--wrap=id"]),
    changed(CANCEL, jobs=["-u", "root"]), changed(CANCEL, jobs=["--user=root"]), changed(CANCEL, jobs=["1 2"]), changed(CANCEL, jobs=[""]),
    changed(CANCEL, jobs=[1]), changed(CANCEL, jobs="12"), changed(CANCEL, jobs=[]), changed(CANCEL, jobs=["12\n"]), changed(CANCEL, jobs=["1_2"]),
    changed(CANCEL, jobs=["1;a", "2;b"]), changed(CANCEL, jobs=["1;-a b"]), changed(CANCEL, jobs=["1"] * 1001), changed(CANCEL, jobs=["1" * 11]),
    changed(CANCEL, signal="9 -u root"), changed(CANCEL, signal=9), changed(CANCEL, flags=["user"]), changed(CANCEL, flags="batch"),
    changed(QUEUE, fields=["%A --user=root"]), changed(QUEUE, fields="%A"), changed(QUEUE, fields=["%A"] * 61), changed(QUEUE, jobs=["1,2"]),
    changed(QUEUE, tool="scontrol"), changed(QUEUE, tool="scontrol", fields=[], jobs=["1", "2"]), changed(QUEUE, tool="sacct"),
    changed(QUEUE, tool="scontrol", fields=[], jobs=["update"]), changed(QUEUE, tool="sbatch"), changed(QUEUE, tool=None),
    changed(QUEUE, clusters="a b"), changed(QUEUE, clusters=["all"]), changed(QUEUE, user=["root"]),
    changed(PREPARE, image="relative"), changed(PREPARE, image="/a\0b"), changed(PREPARE, sources="/"), changed(PREPARE, sources=["x"]),
    changed(PREPARE, sources=["/"] * 101), changed(PREPARE, keep_days=0), changed(PREPARE, keep_days=True), changed(PREPARE, keep_days="1"),
    changed(PREPARE, log_folder="/tmp"),
    changed(TAIL, path="/etc/passwd"), changed(TAIL, path="/etc/x.log"), changed(TAIL, path=ACCOUNT.pw_dir + "/../x.log"),
    changed(TAIL, path=ACCOUNT.pw_dir + "-other/x.log"), changed(TAIL, path=ACCOUNT.pw_dir + "/.ssh/id_rsa"), changed(TAIL, path="x.log"),
    changed(TAIL, limit=65537), changed(TAIL, limit=0), changed(TAIL, limit=-1), changed(TAIL, limit=True), changed(TAIL, limit="1"),
    changed(SUBMIT, timeout=0), changed(SUBMIT, timeout=121), changed(SUBMIT, timeout=True), changed(SUBMIT, timeout="30"),
    changed(SUBMIT, command="shell"), changed(SUBMIT, command="LEAVE OUT"), changed(SUBMIT, command=["submit"]),
    changed(SUBMIT, command=None), changed(SUBMIT, command="__class__"), changed(SUBMIT, version=2),
    changed(SUBMIT, version="1"), changed(SUBMIT, user=None), changed(SUBMIT, user=""), changed(SUBMIT, user="a\nb"), changed(SUBMIT, user=0),
    changed(SUBMIT, user="\ud800"), changed(SUBMIT, user="root"), changed(SUBMIT, user="no-such-account"), changed(SUBMIT, user="#0"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_is_not_of_the_form_is_refused_and_runs_nothing(launcher, number):
    answer = launcher.ask(REFUSED[number])
    assert set(answer) == {"refused", "message"} and answer["message"], REFUSED[number]
    assert answer["refused"] in ("request", "version", "account")
    assert not launcher.ran()


RAW = [
    b"", b"null", b"[]", b"1", b'"x"', b"\xff\xfe", b"{", b"{}{}", b"[" * 100000, b'{"a":' * 50000, b"NaN", b"1" * 100000,
    json.dumps({"version": 1, "user": ACCOUNT.pw_name, **CANCEL}).encode(), json.dumps({"timeout": 1, **CANCEL}).encode(),
    b'{"version":1e0}', b'{"version":NaN}', b"{\"version\":" + b"9" * 5000 + b"}", b" " * (4 << 20) + b"{}",
    json.dumps({"version": 1, "user": ACCOUNT.pw_name, "timeout": 30, **CANCEL}).encode().replace(b'"12"', b'"1"], "jobs": ["2"'),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(RAW)))
def test_what_is_no_such_json_is_refused(launcher, number):
    done = launcher.raw(RAW[number])
    answer = json.loads(done.stdout)
    assert done.returncode == 3 and answer["refused"] in ("request", "version") and b"Traceback" not in done.stderr
    assert not launcher.ran()


def test_arguments_are_refused(launcher):
    done = launcher.raw(b"{}", "--wrap=id")
    assert json.loads(done.stdout)["message"] == "there are no arguments"


CALLERS = [("", "caller"), ("0", "caller"), ("99999", "caller"), ("daemon", "caller"), (f" {CALLER.pw_uid}", "caller")]


@pytest.mark.parametrize(("uid", "code"), CALLERS)
def test_only_the_hubs_account_may_call(launcher, uid, code):
    answer = launcher.ask(SUBMIT, SUDO_UID=uid)
    assert answer["refused"] == code and answer["served"]["account"] == CALLER.pw_name and not launcher.ran()


@needs_root
def test_it_never_runs_as_root(launcher):
    assert launcher.ask(SUBMIT, as_user=None)["refused"] == "root"
    assert not launcher.ran()


def test_low_uids_are_refused(launcher):
    launcher.write_settings(min_uid=ACCOUNT.pw_uid + 1)
    assert launcher.ask(SUBMIT)["refused"] == "account" and not launcher.ran()


def test_who_is_not_in_the_group_is_refused(launcher):
    launcher.write_settings(group="daemon")
    answer = launcher.ask(SUBMIT)
    assert answer["refused"] == "account" and "daemon" in answer["message"] and not launcher.ran()


@needs_root
@pytest.mark.parametrize(("group", "groups"), [(None, [1]), (1, [])], ids=["sudo -P", "sudo -g"])
def test_groups_that_are_not_the_accounts_are_refused(launcher, group, groups):
    """sudo lets its caller keep their own groups, or choose one, whatever the Runas group says."""
    identity = {"user": ACCOUNT.pw_uid, "group": group or ACCOUNT.pw_gid, "extra_groups": [ACCOUNT.pw_gid, *groups]}
    request = {"version": 1, "user": ACCOUNT.pw_name, "timeout": 30, **SUBMIT}
    done = subprocess.run(
        [sys.executable, "-I", launcher.program], input=json.dumps(request).encode(), capture_output=True, check=False,
        env={"SUDO_UID": str(CALLER.pw_uid)}, **identity,
    )  # fmt: skip
    assert json.loads(done.stdout)["refused"] == "account" and not launcher.ran()


CONFIGS = [
    {"account": "no-such-account"}, {"account": 5}, {"slurm_bin": "bin"}, {"min_uid": "0"}, {"min_uid": 0}, {"extra": 1},
    {"group": "no-such-group"}, {"slurm_conf": None},
]  # fmt: skip


@pytest.mark.parametrize("changes", CONFIGS, ids=str)
def test_settings_that_cannot_be_used_are_refused(launcher, changes):
    launcher.write_settings(**changes)
    answer = launcher.ask(SUBMIT)
    assert answer["refused"] == "config" and str(launcher.config) in answer["message"] and not launcher.ran()


def test_settings_that_others_may_have_written_are_refused(launcher):
    launcher.config.chmod(0o666)
    assert launcher.ask(SUBMIT)["refused"] == "config"
    launcher.config.chmod(0o644)
    assert "returncode" in launcher.ask(SUBMIT)
    real = launcher.config.rename(launcher.folder / "real.json")
    launcher.config.symlink_to(real)
    assert launcher.ask(SUBMIT)["refused"] == "config"


def test_a_command_that_does_not_answer_is_ended_with_all_that_it_started(launcher):
    launcher.behave(f"sleep 600 & echo $! > {launcher.seen}/pid; wait")
    answer = launcher.ask({**CANCEL, "timeout": 1})
    assert answer["returncode"] == 124 and "no answer" in answer["stderr"]
    state = Path(f"/proc/{launcher.text('pid')}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


def test_endless_output_is_cut_off(launcher):
    launcher.behave("exec yes")
    answer = launcher.ask(CANCEL)
    assert answer["returncode"] == 124 and "65536 bytes" in answer["stderr"] and answer["stdout"] == ""


def test_a_command_that_reads_nothing_does_not_hold_it_up(launcher):
    (launcher.bin / "sbatch").write_text("#!/bin/sh\nexit 5\n")
    assert launcher.ask({**SUBMIT, "script": "x" * (1 << 20)})["returncode"] == 5


def test_a_command_that_is_missing_is_told(launcher):
    (launcher.bin / "sbatch").unlink()
    assert launcher.ask(SUBMIT)["returncode"] == 127


def test_output_that_is_no_utf_8_comes_back_as_it_was(launcher):
    launcher.behave("printf '\\377\\n'")
    assert launcher.ask(CANCEL)["stdout"].encode("utf-8", "surrogateescape") == b"\xff\n"


@needs_root
def test_a_home_that_does_not_exist(launcher):
    assert not Path(ACCOUNT.pw_dir).exists()
    answer = launcher.ask(PREPARE)["answer"]
    assert answer["log_folder"]["ok"] is False and answer["log_folder"]["words"]
    assert answer["image"]["problem"] == "missing" and answer["missing"] == ["/no/such"]
    assert launcher.ask(TAIL)["answer"] == {"text": "", "words": "No such file or directory"}


def test_one_line_a_call_without_anything_of_the_script(launcher):
    done = launcher.raw(json.dumps({"version": 1, "user": ACCOUNT.pw_name, "timeout": 30, **SUBMIT}).encode())
    if not os.path.exists("/dev/log"):
        (line,) = done.stderr.decode().splitlines()
        assert line.startswith(f"siflab-launcher: submit for '{ACCOUNT.pw_name}' by uid '{CALLER.pw_uid}': 0")
    assert b"echo" not in done.stderr and b"siflab:here" not in done.stderr


NOT_IN_3_6 = {"removeprefix", "removesuffix", "capture_output", "text", "missing_ok", "fromisoformat"}


@pytest.mark.parametrize("file", [SOURCE, SOURCE.with_name("install")], ids=lambda path: path.name)
def test_syntax_and_library_are_those_of_python_3_6(file):
    for node in ast.walk(ast.parse(file.read_text("utf-8"), feature_version=(3, 6))):
        assert not isinstance(node, ast.JoinedStr | ast.NamedExpr)
        if isinstance(node, ast.Import):
            assert {alias.name for alias in node.names} <= sys.stdlib_module_names
        assert not isinstance(node, ast.ImportFrom)
        assert not isinstance(node, ast.keyword) or node.arg not in NOT_IN_3_6
        assert not isinstance(node, ast.Attribute) or node.attr not in NOT_IN_3_6


def pythons():
    """Of this machine, with those of pyenv; each once."""
    found = [path for minor in range(6, 14) if (path := shutil.which(f"python3.{minor}")) and "/shims/" not in path]
    found += [str(path) for path in Path(os.path.expanduser("~/.pyenv/versions")).glob("3.*/bin/python3")]
    return sorted({os.path.realpath(path) for path in [*found, sys.executable]})


WITHOUT_IDENTITY = """
import importlib.machinery, json, pwd, sys, types
loader = importlib.machinery.SourceFileLoader("launcher", sys.argv[1])
launcher = types.ModuleType("launcher")
loader.exec_module(launcher)
config, account = json.loads(sys.argv[2]), pwd.getpwuid(launcher.os.getuid())
for line in sys.stdin:
    try:
        request = launcher.parse(line.encode())
        request.update(config=config, account=account, env=launcher.environment(config, account))
        print(json.dumps(launcher.COMMANDS[request["command"]][1](request)))
    except launcher.Refused as refused:
        print(json.dumps({"refused": str(refused)}))
"""


@pytest.mark.parametrize("python", pythons(), ids=lambda path: path.replace("/", "_"))
def test_every_command_runs_with_the_pythons_of_this_machine(launcher, python):
    """As the account of the tests, which may be root: other accounts cannot enter every Python."""
    requests = [
        SUBMIT,
        {**SUBMIT, "command": "estimate"},
        CANCEL,
        QUEUE,
        {**TAIL, "path": "/x.log"},
        with_option("uid", "0"),
    ]
    lines = "".join(json.dumps({"version": 1, "user": "user1", "timeout": 30, **each}) + "\n" for each in requests)
    done = subprocess.run([python, "-I", "-S", "-c", WITHOUT_IDENTITY, str(launcher.program), json.dumps(launcher.settings)],
                          input=lines, capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.get("returncode") for answer in answers] == [0, 0, 0, 0, None, None]
    assert "below the home" in answers[4]["refused"] and "uid" in answers[5]["refused"]


def test_it_is_small_and_starts_with_an_isolated_python():
    lines = SOURCE.read_text("utf-8").splitlines()
    assert lines[0] == "#!/usr/bin/python3 -I"
    assert len([line for line in lines if line.strip() and not line.strip().startswith("#")]) <= 320
    assert stat.S_IMODE(SOURCE.stat().st_mode) == 0o755
