"""The spawner's command lines become requests that the launcher takes."""

import importlib.machinery
import json
import types
from pathlib import Path

import pytest

from siflab.slurm.clusters import in_cluster
from siflab.slurm.commands import sacct_outcome, scancel, scontrol_job, squeue_comment, squeue_jobs
from siflab_spawner.accounts.launcher_request import NoSuchCommand, request_of
from siflab_spawner.page.options import resources_of
from siflab_spawner.start.submission import sbatch_argv

PROGRAM = Path(__file__).parents[3] / "launcher" / "siflab-launcher"


@pytest.fixture(scope="module")
def launcher():
    loader = importlib.machinery.SourceFileLoader("siflab_launcher_under_test", str(PROGRAM))
    module = types.ModuleType(loader.name)
    loader.exec_module(module)
    return module


def run_by(launcher, argv, stdin=None):
    """The command line that the launcher makes of it."""
    request = {"version": 1, "user": "user1", "timeout": 30, **request_of(argv, stdin)}
    parsed = launcher.parse(json.dumps(request).encode())
    seen = []
    launcher.run = lambda _, name, words, script=b"": seen.append([name, *words]) or {}
    launcher.COMMANDS[parsed["command"]][1](parsed)
    return seen[0]


def test_a_submission_keeps_every_option(launcher, site):
    resources = resources_of(site, {"profile": "one", "gpus": 2}, [])
    argv = sbatch_argv(
        resources, comment="siflab:here:DOMAIN%2Buser1::ab", name="siflab-session", log_pattern="/h/%j.log", folder="/h"
    )
    for cluster in (None, "east"):
        for more in ([], ["--test-only"]):
            asked = in_cluster([*argv, *more], cluster)
            assert sorted(run_by(launcher, asked, "#!/bin/sh\n")) == sorted(asked)


QUESTIONS = [
    squeue_jobs(["5", "6"]), squeue_comment("5"), scontrol_job("5"), sacct_outcome("5"), scancel(["5", "6"]),
    scancel(["5"], signal="USR1", batch=True),
]  # fmt: skip


@pytest.mark.parametrize("argv", QUESTIONS, ids=lambda argv: argv[0])
@pytest.mark.parametrize("cluster", [None, "east"])
def test_questions_and_cancels_stay_what_they_are(launcher, argv, cluster):
    asked = in_cluster(argv, cluster)

    def words(command):
        """Without the difference between ``--jobs 5`` and ``--jobs=5``."""
        return sorted(word for part in command for word in (part.split("=", 1) if part.startswith("--") else [part]))

    assert words(run_by(launcher, asked)) == words(asked)


def test_the_users_own_queue(launcher):
    made = run_by(launcher, squeue_jobs(user="user1"))
    assert made[0] == "squeue" and made[-1] == f"--user={launcher.os.getuid()}"


OTHERS = [
    ["/usr/bin/python3", "-c", "x"], ["srun", "id"], ["sbatch", "script.sh"], ["sbatch", "-p", "cpu"], ["scancel", "--user=root"],
    ["scancel", "-u", "root"], ["scontrol", "update", "JobId=5", "TimeLimit=9"], ["scontrol", "show", "config"],
    ["squeue", "--iterate=1"], ["squeue", "x"], ["sacct", "--file=/etc/shadow"],
]  # fmt: skip


@pytest.mark.parametrize("argv", OTHERS, ids=" ".join)
def test_nothing_else_is_done_as_the_user(argv):
    with pytest.raises(NoSuchCommand):
        request_of(argv, None)
