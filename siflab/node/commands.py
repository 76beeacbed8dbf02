"""Which of Slurm's commands a session may run, and with which environment."""

import os
import re
import shutil

from .protocol import PREFERENCES
from .words import Words

ALLOWED = ("sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "sstat", "sprio", "sshare")
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/opt/slurm/bin:/usr/local/slurm/bin"

# What a job sets for itself would change what is submitted from it: wrong memory, a threefold slowdown by
# SLURM_CPU_BIND. SLURM_CONF says which cluster, and stays.
_OF_THE_JOB = re.compile(
    r"(SLURM_(?!CONF$)|SLURMD_|SBATCH_|SRUN_|SALLOC_|SQUEUE_|SINFO_|SCANCEL_|SACCT_|SCONTROL_|SPRIO_|SSHARE_|SSTAT_"
    r"|PMI_|PMI2_|PMIX_|OMPI_|HYDRA_|APPTAINER|SINGULARITY|JUPYTER|JPY_|SIFLAB_|LD_|TMPDIR$|OLDPWD$"
    r"|CUDA_VISIBLE_DEVICES$|ROCR_|HIP_VISIBLE_DEVICES$|GPU_DEVICE_ORDINAL$|ZE_AFFINITY_MASK$)"
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

_REFUSED = {
    "srun": Words(
        "srun cannot start job steps from inside a session. Put the command into a script and submit it with sbatch, "
        "or promote the notebook",
        "会话中不能用 srun 启动作业步。请把命令写入脚本并用 sbatch 提交，或将 notebook 提升为批处理作业",
    ),
    "salloc": Words(
        "salloc cannot be used inside a session. Submit a script with sbatch, or start another session from the Hub",
        "会话中不能使用 salloc。请用 sbatch 提交脚本，或在 Hub 上启动另一个会话",
    ),
}


class NotAllowed(Exception):
    """The command is not run; its argument is Words."""


def find(name, folder, environment):
    """The absolute path of a command: in `folder`, else in the environment's PATH, else where it usually is. Raises
    NotAllowed."""
    if name in _REFUSED:
        raise NotAllowed(_REFUSED[name])
    if name not in ALLOWED:
        raise NotAllowed(
            Words(
                "%s is not one of the commands that a session may run (%s)" % (name, ", ".join(ALLOWED)),
                "会话中不能运行 %s（可用命令：%s）" % (name, "、".join(ALLOWED)),
            )
        )
    path = shutil.which(name, path=folder or environment.get("PATH", "") + ":" + _PATH)
    if path is None:
        node = os.uname()[1]
        where = folder or "PATH"
        raise NotAllowed(
            Words(
                "%s was not found on node %s (in %s); tell your administrator (slurm.bin in site.yaml)"
                % (name, node, where),
                "节点 %s 上找不到 %s（查找位置：%s）；请联系管理员（site.yaml 中的 slurm.bin）" % (node, name, where),
            )
        )
    return path


def clean(environment):
    """The bridge's own environment without what the session's job set."""
    return {name: value for name, value in environment.items() if not _OF_THE_JOB.match(name)}


def for_command(base, wished, cwd):
    """`base` (clean), what the client wishes to pass on, and the working folder. How output looks is a person's to say;
    other variables pass when ``sbatch --export`` names them."""
    environment = dict(base)
    for name, value in wished.items():
        if not isinstance(value, str) or "\0" in value or not _NAME.fullmatch(name):
            continue
        if name in PREFERENCES or not _OF_THE_JOB.match(name):
            environment[name] = value
    environment["PWD"] = cwd
    return environment
