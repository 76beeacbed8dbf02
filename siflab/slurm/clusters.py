"""Several clusters under one accounting database: commands are sent to one of them by name (``--clusters``, ``-M``).

With it sbatch answers ``12;name``, and squeue and sinfo print a line ``CLUSTER: name`` before their rows (22.05 leaves
it out with --noheader, other versions print it).
"""

from collections.abc import Sequence

_COMMANDS = {"sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo"}
_LINE = "CLUSTER:"


class OtherCluster(ValueError):
    """What a command printed is about another cluster than the one that was asked for."""


def in_cluster(argv: Sequence[str], cluster: str | None) -> list[str]:
    """`argv`, sent to `cluster` where one is named."""
    if not cluster or argv[0] not in _COMMANDS:
        return list(argv)
    return [argv[0], f"--clusters={cluster}", *argv[1:]]


def own_answer(command: str, stdout: str, cluster: str | None) -> str:
    """`stdout` without the line that names the cluster. Raises OtherCluster when it names another one. Only a first
    line counts: further down it may be what somebody wrote into the name of a job."""
    if not cluster or command not in ("squeue", "sinfo"):
        return stdout
    first, _, rest = stdout.lstrip("\n").partition("\n")
    if not first.startswith(_LINE):
        return stdout
    named = first[len(_LINE) :].strip()
    if named != cluster:
        raise OtherCluster(f"asked for the cluster {cluster}, got an answer of {named[:100]}")
    return rest
