"""A Hub that runs as an ordinary account: it acts as its users through the launcher, and as nobody else."""

import json
import os
import pwd
import re
import subprocess

import pytest

from siflab.slurm.answers import parse_estimate
from tests.cluster.hub import IMAGE, USERS, site, slurm, wait_for, why_not
from tests.cluster.hub_account import (
    ACCOUNT,
    GROUP,
    PROGRAM,
    SETTINGS,
    AccountHub,
    account_with_launcher,
    as_account,
    folder_of_hub,
    install,
    why_no_account,
)

WHY = why_not() or why_no_account()
pytestmark = [pytest.mark.cluster, pytest.mark.skipif(WHY is not None, reason=str(WHY))]
ALICE, BOB = USERS[0], USERS[1]


@pytest.fixture(scope="module")
def account():
    with account_with_launcher([ALICE]) as name:
        yield name


@pytest.fixture(scope="module")
def hub(account):
    data = site()
    data["images"]["no-python"] = {"path": IMAGE, "title": "No Python", "python": "/no/such/python"}
    data["profiles"]["no-python"] = {
        "title": "Image without Python", "image": "no-python", "partition": "cpu", "cpus": 1, "memory": "1G", "time": "0:30:00",
    }  # fmt: skip
    with folder_of_hub() as folder:
        one = AccountHub(folder, data)
        one.start()
        try:
            yield one
        finally:
            one.stop()


def test_a_session_is_the_users_and_outlives_a_killed_hub(hub):
    assert hub.process is not None
    (uid, *_), home = _ids(hub.process.pid), pwd.getpwnam(ALICE).pw_dir
    assert uid == pwd.getpwnam(ACCOUNT).pw_uid, "the Hub is an ordinary account"
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    (job,) = hub.jobs()
    assert job["user"] == ALICE
    shown = slurm("scontrol", "--oneliner", "show", "job", job["id"])
    assert f"UserId={ALICE}(" in shown and f"WorkDir={home}" in shown
    assert hub.notebook(ALICE, "api/me").json()["identity"]["username"] == ALICE

    hub.kill()
    hub.start()
    hub.wait_ready(ALICE, timeout=60)
    assert [found["id"] for found in hub.jobs()] == [job["id"]]
    assert hub.notebook(ALICE).json()["kernels"] == 0

    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    assert hub.jobs() == []
    assert f"CANCELLED by {pwd.getpwnam(ALICE).pw_uid}" in wait_for(
        lambda: re.search("CANCELLED by .*", slurm("sacct", "--noheader", "--jobs", job["id"], "--format=State%40")),
        30, "accounting has it",
    ).group(), "as the user, not as root"  # fmt: skip


def test_a_start_that_fails_shows_the_end_of_the_users_log(hub):
    hub.spawn(ALICE, profile="no-python")
    last = hub.events(ALICE)[-1]
    assert last["failed"] is True and "/no/such/python" in last["message"]
    hub.wait_stopped(ALICE)
    assert hub.jobs() == []


def test_who_is_not_in_the_group_is_refused_with_a_message(hub):
    hub.spawn(BOB, profile="cpu")
    wait_for(lambda: not hub.server(BOB).get("pending"), 60, "refused", hub.told)
    assert f"the account '{BOB}' is not in the group '{GROUP}'" in hub.log()
    assert hub.jobs() == []


def sudo(user, request, *options):
    return as_account("sudo", "-n", *options, "-u", user, "--", PROGRAM, stdin=json.dumps(request))


def asking(user, **changes):
    return {"version": 1, "command": "queue", "user": user, "timeout": 30, "tool": "squeue", "fields": ["%u"], "jobs": [],
            "clusters": None, **changes}  # fmt: skip


def test_sudo_lets_the_account_be_a_member_of_the_group_and_nobody_else(account):
    answer = json.loads(sudo(ALICE, asking(ALICE)).stdout)
    assert answer["returncode"] == 0 and set(answer["stdout"].split()) <= {ALICE}
    for other in (BOB, "root", "daemon", "#0", f"#{pwd.getpwnam(BOB).pw_uid}"):
        done = sudo(other, asking(other))
        assert done.returncode == 1 and done.stdout == "", other
    for command in (
        ["/bin/sh", "-c", "id"],
        [PROGRAM, "--version"],
        ["-E", PROGRAM],
        ["-s"],
        ["PYTHONPATH=/tmp", PROGRAM],
    ):
        done = as_account("sudo", "-n", "-u", ALICE, *command, stdin=json.dumps(asking(ALICE)))
        assert done.returncode != 0 and "returncode" not in done.stdout, command


def test_the_launcher_refuses_what_sudo_would_let_through(account):
    assert json.loads(sudo(ALICE, asking(BOB)).stdout)["refused"] == "account", "another user than sudo's"
    kept_groups = sudo(ALICE, asking(ALICE), "-P")
    assert "returncode" not in kept_groups.stdout, "the caller's groups with the user's uid"
    by_hand = subprocess.run([PROGRAM], input=json.dumps(asking("root")), capture_output=True, text=True, check=False)
    assert json.loads(by_hand.stdout)["refused"] == "root"
    other = as_account(PROGRAM, stdin=json.dumps(asking(BOB)), name=BOB)
    assert json.loads(other.stdout)["refused"] == "caller"


def test_an_estimate_is_the_users_and_submits_nothing(account):
    before = slurm("squeue", "--noheader", "--user", ALICE, "--format=%A")
    options = {"partition": "cpu", "mem": "100M", "time": "0:10:00", "no-requeue": True}
    estimate = {
        "version": 1,
        "command": "estimate",
        "user": ALICE,
        "timeout": 30,
        "script": "#!/bin/sh\n",
        "options": options,
    }
    answer = json.loads(sudo(ALICE, estimate).stdout)
    assert parse_estimate(answer["stderr"]) is not None, answer
    assert slurm("squeue", "--noheader", "--user", ALICE, "--format=%A") == before


def test_what_slurm_shows_the_user_of_their_jobs(account):
    """Where PrivateData hides jobs from the Hub's account."""
    sbatch = {"version": 1, "command": "submit", "user": ALICE, "timeout": 30, "script": "#!/bin/sh\n",
              "options": {"partition": "cpu", "mem": "100M", "hold": True, "output": "/dev/null"}}  # fmt: skip
    job = json.loads(sudo(ALICE, sbatch).stdout)["stdout"].strip()
    try:
        for tool, fields in (("squeue", ["%A", "%u"]), ("scontrol", []), ("sacct", ["JobIDRaw", "User"])):
            answer = json.loads(sudo(ALICE, asking(ALICE, tool=tool, fields=fields, jobs=[job])).stdout)
            assert answer["returncode"] == 0 and not answer["stderr"], tool
            assert tool == "sacct" or (job in answer["stdout"] and ALICE in answer["stdout"]), tool
    finally:
        cancel = {
            "version": 1,
            "command": "cancel",
            "user": ALICE,
            "timeout": 30,
            "jobs": [job],
            "signal": None,
            "flags": [],
        }
        assert json.loads(sudo(ALICE, cancel).stdout)["returncode"] == 0


def test_nothing_hostile_reaches_slurm(account):
    submit = {"version": 1, "command": "submit", "user": ALICE, "timeout": 30, "script": "#!/bin/sh\n"}
    for options in ({"wrap": "id"}, {"uid": "0"}, {"comment": "x\n--wrap=id"}, {"job-name --wrap": "id"}):
        assert json.loads(sudo(ALICE, {**submit, "options": options}).stdout)["refused"] == "request", options
    for jobs in (["-u", "root"], ["--user=root"], ["1 2"]):
        cancel = {
            "version": 1,
            "command": "cancel",
            "user": ALICE,
            "timeout": 30,
            "jobs": jobs,
            "signal": None,
            "flags": [],
        }
        assert json.loads(sudo(ALICE, cancel).stdout)["refused"] == "request", jobs


def test_another_users_job_cannot_be_cancelled(account):
    submitted = as_account(
        "env", f"SLURM_CONF={os.environ['SLURM_CONF']}", "sbatch", "--parsable", "--partition=cpu", "--mem=100", "--hold",
        "--output=/dev/null", "--wrap=true", name=BOB,
    )  # fmt: skip
    job = submitted.stdout.strip()
    try:
        cancel = {
            "version": 1,
            "command": "cancel",
            "user": ALICE,
            "timeout": 30,
            "jobs": [job],
            "signal": None,
            "flags": [],
        }
        answer = json.loads(sudo(ALICE, cancel).stdout)
        assert "denied" in answer["stderr"]
        assert slurm("squeue", "--noheader", "--jobs", job, "--format=%T").strip() == "PENDING"
    finally:
        slurm("scancel", job, check=False)


START_UP = [
    (("chmod", "0777", PROGRAM), ("chmod", "0755", PROGRAM), "cannot be trusted"),
    (("chown", BOB, PROGRAM), ("chown", "root", PROGRAM), "cannot be trusted"),
    (("mv", "/etc/sudoers.d/siflab-test", "/etc/siflab/kept"), ("mv", "/etc/siflab/kept", "/etc/sudoers.d/siflab-test"), "sudo does not let"),
    (("sed", "-i", "s/^VERSION = 1/VERSION = 2/", PROGRAM), ("sed", "-i", "s/^VERSION = 2/VERSION = 1/", PROGRAM), "version 2"),
    (("sed", "-i", f's/"{ACCOUNT}"/"daemon"/', "/etc/siflab/test-launcher.json"),
     ("sed", "-i", f's/"daemon"/"{ACCOUNT}"/', "/etc/siflab/test-launcher.json"), "'daemon'"),
    (("chmod", "0666", "/etc/siflab/test-launcher.json"), ("chmod", "0644", "/etc/siflab/test-launcher.json"), "cannot be used"),
]  # fmt: skip
LOOK = f"""
import sys
from siflab.errors import Internal
from siflab_spawner.accounts.acting import choose
for line in sys.stdin:
    try:
        choose("launcher", {PROGRAM!r})
        print("good", flush=True)
    except Internal as error:
        print(error.message.en, flush=True)
"""


@pytest.fixture(scope="module")
def look(hub):
    """What a Hub of this account finds when it starts now."""
    with subprocess.Popen(
        [hub.python, "-c", LOOK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout

        def ask():
            process.stdin.write("\n")
            process.stdin.flush()
            return process.stdout.readline()

        yield ask
        process.stdin.close()


@pytest.mark.parametrize(
    ("break_it", "mend_it", "words"), START_UP, ids=[f"{i}-{case[2]}" for i, case in enumerate(START_UP)]
)
def test_a_launcher_that_cannot_be_used_is_told_at_the_start(look, break_it, mend_it, words):
    assert look() == "good\n"
    subprocess.run(break_it, check=True)
    try:
        assert words in look()
    finally:
        subprocess.run(mend_it, check=True)
    assert look() == "good\n"


@pytest.mark.parametrize(
    "settings", ["", SETTINGS.replace(PROGRAM, "/no/such/launcher")], ids=["not-installed", "wrong-path"]
)
def test_a_hub_without_a_way_to_act_ends_at_its_start_and_says_what_to_do(account, settings):
    if not settings and os.path.exists("/usr/local/libexec/siflab-launcher"):
        settings = SETTINGS.replace(PROGRAM, "/no/such/launcher")
    with folder_of_hub() as folder:
        one = AccountHub(folder, site(), settings)
        with pytest.raises(AssertionError, match="the Hub ended"):
            one.start()
        assert one.process is not None and one.process.wait(30) == 1
        assert "launcher/install" in one.log() and "acting = 'self'" in one.log() and "以普通账户" not in one.log()


def test_install_changes_nothing_when_something_is_wrong(account):
    before = os.stat(PROGRAM).st_mtime_ns
    for options in (
        ["--group", "no-such-group"],
        ["--account", "root"],
        ["--slurm-bin", "/no/such"],
        ["--program", "/tmp/siflab-launcher"],
    ):
        done = install("--account", ACCOUNT, "--group", GROUP, *options)
        assert done.returncode == 1 and "nothing was changed" in done.stderr, options
    assert os.stat(PROGRAM).st_mtime_ns == before


def _ids(pid):
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("Uid:"))
    return [int(word) for word in line.split()[1:]]
