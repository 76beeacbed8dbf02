"""How many elements a job array may have, and how many jobs a person may have in the queue.

Sources: slurm.conf(5) MaxArraySize (the highest index is one less), sacctmgr(1) MaxSubmitJobs. An element counts as a
job for the second.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from siflab.slurm.commands import scontrol_config
from siflab.slurm.execute import Slurm, require_reachable
from siflab.slurm.scontrol import parse_config

DEFAULT_ARRAY_SIZE = 1001


@dataclass(frozen=True)
class ArrayLimits:
    """`size`: elements of one array at most; `submitted`: jobs in the queue at most, None where there is no limit or it
    is not known; `because`: which limit that is, as sacctmgr names it."""

    size: int
    submitted: int | None = None
    because: str = ""


def parse_array_size(config: str) -> int:
    """Elements of one array, from ``scontrol show config``; Slurm's default where it is not said."""
    found = re.search(r"^MaxArraySize\s*=\s*(\d+)", config, re.M | re.ASCII)
    return max(0, int(found[1]) - 1) if found else DEFAULT_ARRAY_SIZE - 1


def association_query(user: str, cluster: str) -> list[str]:
    """`cluster`: as ClusterName in slurm.conf; one database serves many, each with its own limits. Of all if empty."""
    where = [f"user={user}", *([f"cluster={cluster.lower()}"] if cluster else [])]
    return [
        "sacctmgr", "--noheader", "--parsable2", "show", "association", *where,
        "format=account,partition,maxsubmitjobs",
    ]  # fmt: skip


def qos_query() -> list[str]:
    return ["sacctmgr", "--noheader", "--parsable2", "show", "qos", "format=name,maxsubmitjobsperuser"]


def smallest(rows: Iterable[list[str]], names: Iterable[str | None]) -> int | None:
    """The smallest limit (last column) among rows whose first column is one of `names`; all rows count where a name is
    not known."""
    wanted = {name for name in names if name}
    limits = [
        int(row[-1])
        for row in rows
        if (not wanted or row[0] in wanted) and row[-1].isascii() and row[-1].isdigit() and len(row) > 1
    ]
    return min(limits) if limits else None


def read_array_limits(slurm: Slurm, user: str, account: str | None, qos: str | None) -> ArrayLimits:
    """What is known of them; where the accounting database does not answer sbatch decides. Raises SlurmUnreachable."""
    config = require_reachable(slurm.run(scontrol_config())).stdout
    size, cluster = parse_array_size(config), slurm.cluster or parse_config(config).get("ClusterName", "")
    by_account = _rows(slurm.run(association_query(user, cluster)).stdout)
    limit = smallest(by_account, [account]) if account or len({row[0] for row in by_account}) == 1 else None
    because = f"MaxSubmitJobs of the account {account or (by_account[0][0] if by_account else '')}".strip()
    if qos:
        of_qos = smallest(_rows(slurm.run(qos_query()).stdout), [qos])
        if of_qos is not None and (limit is None or of_qos < limit):
            limit, because = of_qos, f"MaxSubmitJobsPerUser of the QOS {qos}"
    return ArrayLimits(size, limit, because if limit is not None else "")


def _rows(text: str) -> list[list[str]]:
    return [line.split("|") for line in text.splitlines() if line.strip()]
