"""Which commands run, and with which environment."""

import pytest

from siflab.node import commands

JOB = {
    "HOME": "/home/user1",
    "PATH": "/usr/bin",
    "SLURM_CONF": "/etc/slurm.conf",
    "MODULEPATH": "/sw/modules",
    **dict.fromkeys(
        [
            "SLURM_CPU_BIND", "SLURM_JOB_ID", "SLURM_CONF_SERVER", "SLURM_MEM_PER_NODE", "SLURMD_NODENAME", "SBATCH_PARTITION",
            "SRUN_CPUS_PER_TASK", "SALLOC_ACCOUNT", "SQUEUE_FORMAT", "PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK",
            "APPTAINER_BIND", "SINGULARITY_NAME", "JUPYTERHUB_API_TOKEN", "JPY_PARENT_PID", "CUDA_VISIBLE_DEVICES",
            "GPU_DEVICE_ORDINAL", "ROCR_VISIBLE_DEVICES", "TMPDIR", "LD_LIBRARY_PATH", "LD_PRELOAD", "SIFLAB_DIR",
        ],
        "x",
    ),
}  # fmt: skip


def test_of_the_job_s_environment_only_what_is_no_job_s_is_left():
    assert set(commands.clean(JOB)) == {"HOME", "PATH", "SLURM_CONF", "MODULEPATH"}


def test_what_a_client_may_pass_on():
    wished = {
        "SQUEUE_FORMAT": "%i", "COLUMNS": "120", "DATA": "/d", "SLURM_CPU_BIND": "x", "LD_PRELOAD": "evil.so",
        "JUPYTERHUB_API_TOKEN": "t", "bad name": "x", "NUL": "a\0b", "LIST": ["x"],
    }  # fmt: skip
    env = commands.for_command({"HOME": "/home/user1", "PWD": "/"}, wished, "/home/user1/x")
    assert env == {"HOME": "/home/user1", "PWD": "/home/user1/x", "SQUEUE_FORMAT": "%i", "COLUMNS": "120", "DATA": "/d"}


def test_commands_are_found_in_the_site_s_folder_or_in_path(tmp_path, make_program):
    one = make_program(tmp_path / "slurm" / "squeue", "#!/bin/sh\n")
    two = make_program(tmp_path / "path" / "squeue", "#!/bin/sh\n")
    assert commands.find("squeue", str(one.parent), {"PATH": str(two.parent)}) == str(one)
    assert commands.find("squeue", None, {"PATH": str(two.parent)}) == str(two)


@pytest.mark.parametrize("name", ["srun", "salloc", "sacctmgr", "bash", "squeue;id", "", "../squeue"])
def test_nothing_else_runs_and_the_reason_is_said_in_both_languages(name):
    with pytest.raises(commands.NotAllowed) as refused:
        commands.find(name, None, {"PATH": "/usr/bin:/bin"})
    words = refused.value.args[0]
    assert words.en and words.zh and words.en != words.zh


def test_srun_says_what_to_do_instead():
    with pytest.raises(commands.NotAllowed) as refused:
        commands.find("srun", None, {})
    assert "submit it with sbatch" in refused.value.args[0].en


def test_a_node_without_slurm_s_commands(tmp_path):
    with pytest.raises(commands.NotAllowed) as refused:
        commands.find("squeue", str(tmp_path), {})
    assert "slurm.bin in site.yaml" in refused.value.args[0].en
