"""How commands are run: the environment they get, time limits, commands that are missing."""

import asyncio
import stat

import pytest

from siflab.errors import SlurmUnreachable
from siflab.slurm.execute import Slurm, require_reachable


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


def test_a_command_that_is_missing_is_named(tmp_path):
    done = Slurm(bin_dir=str(tmp_path)).run(["sbatch"])
    assert done.returncode == 127
    assert done.unreachable
    assert "sbatch: command not found" in done.stderr


def test_the_asynchronous_way_gives_the_same(program):
    done = asyncio.run(program("cat; echo out; echo err >&2; exit 2").arun(["squeue", "-x"], stdin="in\n"))
    assert (done.returncode, done.stdout, done.stderr) == (2, "in\nout\n", "err\n")
