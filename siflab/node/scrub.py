"""The environment in which the bridge runs Slurm's commands: without what the session's own job set.

SLURM_*, SBATCH_*, SRUN_* and PMIX_* of the job would change what is submitted from it (wrong memory, a 3x slowdown by
SLURM_CPU_BIND); SLURM_CONF stays, since it says which cluster.
"""

import re

_JOB = re.compile(
    r"(SLURM_(?!CONF$)|SLURMD_|SBATCH_|SRUN_|SALLOC_|SQUEUE_|SINFO_|SCANCEL_|SACCT_|SCONTROL_|PMI_|PMI2_|PMIX_|OMPI_|MPI"
    r"|APPTAINER|SINGULARITY|JUPYTER|JPY_|SIFLAB_|CUDA_VISIBLE_DEVICES$|ROCR_|HIP_|GPU_DEVICE_ORDINAL$|ZE_AFFINITY|TMPDIR$|LD_)"
)
FROM_CLIENT = ("COLUMNS", "LINES", "TERM", "TZ", "SLURM_TIME_FORMAT")


def clean(environment):
    return {name: value for name, value in environment.items() if not _JOB.match(name)}


def for_command(base, client, cwd):
    """The environment of one command: `base` (clean), the little that a client may say, and the working folder."""
    env = dict(base, PWD=cwd)
    for name in FROM_CLIENT:
        value = client.get(name) if isinstance(client, dict) else None
        if isinstance(value, str) and "\0" not in value:
            env[name] = value
    return env
