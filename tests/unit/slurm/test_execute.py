"""How commands are run: the environment they get, time limits, commands that are missing."""

import asyncio
import os
import signal
import stat
from dataclasses import replace

import pytest

from siflab.errors import SlurmUnreachable
from siflab.slurm import bounded, execute
from siflab.slurm.clusters import in_cluster, own_answer
from siflab.slurm.execute import Completed, Slurm, require_reachable


@pytest.fixture
def program(tmp_path):
    """Makes a client command of the given lines of sh; answers a Slurm that finds it."""

    def make(lines: str) -> Slurm:
        file = tmp_path / "squeue"
        file.write_text(f"#!/bin/sh\n{lines}\n")
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
        return Slurm(bin_dir=str(tmp_path), conf="/etc/slurm/other.conf", timeout=20)

    return make


INHERITED = ["SLURM_JOB_ID", "SLURM_CPU_BIND", "SBATCH_PARTITION", "SRUN_CPUS_PER_TASK", "PMIX_RANK", "APPTAINER_BIND",
             "SINGULARITY_BIND", "JUPYTERHUB_API_TOKEN", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"]  # fmt: skip


def test_what_a_job_inherits_does_not_reach_the_command(program, monkeypatch):
    for name in INHERITED:
        monkeypatch.setenv(name, "inherited")
    done = program("env").run(["squeue"])
    assert "inherited" not in done.stdout
    assert "SLURM_CONF=/etc/slurm/other.conf" in done.stdout.splitlines()


def test_standard_input_and_exit_code_come_through(program):
    done = program("cat; exit 3").run(["squeue"], stdin="#!/bin/sh\necho 训练\n")
    assert (done.returncode, done.stdout) == (3, "#!/bin/sh\necho 训练\n")


@pytest.mark.parametrize("how", ["sync", "async"])
def test_a_command_that_does_not_answer_is_ended_and_proves_nothing(program, how):
    slurm = program("exec sleep 60")
    run = slurm.run if how == "sync" else lambda *argv, **options: asyncio.run(slurm.arun(*argv, **options))
    done = run(["squeue"], timeout=0.2)
    assert done.returncode == 124
    assert done.unreachable
    with pytest.raises(SlurmUnreachable) as caught:
        require_reachable(done)
    assert "squeue" in caught.value.message.en
    assert "squeue" in caught.value.message.zh


@pytest.mark.asyncio
async def test_nobody_waits_for_a_process_that_cannot_be_ended(program, monkeypatch):
    """As one that hangs in the kernel on a file system that is away: SIGKILL does not reach it."""
    unheard = []
    monkeypatch.setattr(execute.os, "killpg", lambda pid, number: unheard.append(pid))
    monkeypatch.setattr(execute, "_REAPED_IN", 0.05)
    done = await asyncio.wait_for(program("exec sleep 600").arun(["squeue"], timeout=0.2), 60)
    assert done.returncode == 124 and done.unreachable
    monkeypatch.undo()
    (pid,) = unheard
    os.killpg(pid, signal.SIGKILL)
    while os.path.exists(f"/proc/{pid}"):
        await asyncio.sleep(0.01)


def test_a_command_that_is_missing_is_named(tmp_path):
    done = Slurm(bin_dir=str(tmp_path)).run(["sbatch"])
    assert done.returncode == 127
    assert done.unreachable
    assert "sbatch: command not found" in done.stderr


def test_the_asynchronous_way_gives_the_same(program):
    done = asyncio.run(program("cat; echo out; echo err >&2; exit 2").arun(["squeue", "-x"], stdin="in\n"))
    assert (done.returncode, done.stdout, done.stderr) == (2, "in\nout\n", "err\n")


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_command_that_prints_without_end_is_ended_and_proves_nothing(program, monkeypatch, stream):
    monkeypatch.setattr(bounded.communicate, "__defaults__", (2000, 1000))
    done = asyncio.run(program(f"while echo 0123456789; do :; done >&{stream}").arun(["squeue"]))
    assert done.returncode == 76 and done.unreachable and not done.not_run
    assert "printed more than" in done.stderr and done.stdout == ""
    assert asyncio.run(program("head -c 2000 /dev/zero").arun(["squeue"])).ok


def test_standard_input_that_is_not_read_is_no_fault(program):
    done = asyncio.run(program("exec <&-; echo said").arun(["squeue"], stdin="x" * 2**20))
    assert (done.returncode, done.stdout) == (0, "said\n")


ON_ANOTHER = [
    ("squeue", "echo 'CLUSTER: lab'; echo row", 0, "row\n"),
    ("squeue", "echo row; echo 'CLUSTER: other'", 0, "row\nCLUSTER: other\n"),
    ("squeue", "echo 'CLUSTER: other'; echo row", 76, ""),
    ("squeue", "echo 'CLUSTER: lab2'", 76, ""),
    ("squeue", ":", 0, ""),
]


@pytest.mark.parametrize(("command", "lines", "code", "stdout"), ON_ANOTHER)
@pytest.mark.parametrize("how", ["sync", "async"])
def test_an_answer_of_another_cluster_proves_nothing(program, command, lines, code, stdout, how):
    slurm = replace(program(lines), cluster="lab")
    done = slurm.run([command]) if how == "sync" else asyncio.run(slurm.arun([command]))
    assert (done.returncode, done.stdout) == (code, stdout)
    assert done.unreachable == (code != 0)


@pytest.mark.parametrize("how", ["sync", "async"])
def test_commands_are_sent_to_the_cluster_that_site_yaml_names(program, how):
    slurm = replace(program('echo "$@"'), cluster="lab")
    done = slurm.run(["squeue", "-h"]) if how == "sync" else asyncio.run(slurm.arun(["squeue", "-h"]))
    assert done.stdout == "--clusters=lab -h\n"
    assert in_cluster(["sacctmgr", "show"], "lab") == ["sacctmgr", "show"]
    assert in_cluster(["sbatch", "--parsable"], None) == ["sbatch", "--parsable"]
    assert own_answer("sacct", "CLUSTER: other\n", "lab") == "CLUSTER: other\n", "only squeue and sinfo print the line"


@pytest.mark.parametrize(
    ("code", "answered"), [(0, True), (1, True), (-9, False), (-15, False), (124, False), (127, False)]
)
def test_a_command_that_was_killed_gave_no_answer(code, answered):
    assert Completed(("scancel", "1"), code, "", "").unreachable is not answered
