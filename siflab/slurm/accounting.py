"""Who may use what: associations and QOS, as ``sacctmgr --parsable2 --noheader show`` prints them.

One question for the whole site, not one for each user. Limits of jobs (MaxTRES, MaxWall, QOS) are printed for a user
with what the account above passes on; limits of groups (GrpTRES) stand at each account, see sacctmgr(1) WOPLimits.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from siflab.slurm.memory import parse_memory
from siflab.slurm.records import Unreadable
from siflab.slurm.time import parse_limit

ASSOCIATION_FIELDS = (
    "Cluster", "Account", "User", "Partition", "ParentName", "QOS", "DefaultQOS", "MaxTRES", "MaxTRESPerNode",
    "GrpTRES", "MaxWall",
)  # fmt: skip
QOS_FIELDS = (
    "Name", "Flags", "MaxTRES", "MaxTRESPerNode", "MaxTRESPU", "GrpTRES", "MaxWall", "MaxJobsPU",
)  # fmt: skip
USER_FIELDS = ("User", "DefaultAccount")

Tres = Mapping[str, int]
"""A limit by TRES as Slurm names it: ``cpu``, ``mem`` (MiB), ``gres/gpu``, ``gres/gpu:a100``."""


@dataclass(frozen=True)
class Association:
    """A user in an account (in one partition, where `partition` is not empty); the account itself where `user` is
    empty."""

    account: str
    user: str
    partition: str
    parent: str
    qos: tuple[str, ...]
    default_qos: str
    max_tres: Tres
    max_tres_per_node: Tres
    group_tres: Tres
    max_wall: int | None


@dataclass(frozen=True)
class Qos:
    """`max_tres` are a job's, `max_tres_per_user` those of all jobs of one person, `group_tres` those of all jobs."""

    name: str
    flags: frozenset[str]
    max_tres: Tres
    max_tres_per_node: Tres
    max_tres_per_user: Tres
    group_tres: Tres
    max_wall: int | None
    max_jobs_per_user: int | None


@dataclass(frozen=True)
class Accounting:
    """What sacctmgr and ``scontrol show config`` said, for all users. `enforced` are the words of
    AccountingStorageEnforce, None where it is not known, `private` those of PrivateData, what users may not
    see of each other; `hidden` those that hide it from us too. `shares_devices`: a job can use GPUs of its node that it
    was not given."""

    associations: tuple[Association, ...] = ()
    qos: Mapping[str, Qos] = field(default_factory=dict)
    default_accounts: Mapping[str, str] = field(default_factory=dict)
    enforced: frozenset[str] | None = None
    private: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    shares_devices: bool = False

    @cached_property
    def by_user(self) -> dict[str, list[Association]]:
        found: dict[str, list[Association]] = {}
        for association in self.associations:
            if association.user:
                found.setdefault(association.user, []).append(association)
        return found

    @cached_property
    def accounts(self) -> dict[str, Association]:
        return {association.account: association for association in self.associations if not association.user}

    @property
    def enforces_associations(self) -> bool:
        return bool(self.enforced and self.enforced & {"associations", "limits", "qos", "safe", "wckeys", "all"})

    @property
    def enforces_limits(self) -> bool:
        return bool(self.enforced and self.enforced & {"limits", "safe", "all"})

    @property
    def enforces_qos(self) -> bool:
        return bool(self.enforced and self.enforced & {"qos", "all"})

    def above(self, account: str) -> Iterator[Association]:
        """The account and those above it; a loop, which Slurm has none of, ends."""
        seen: set[str] = set()
        while account in self.accounts and account not in seen:
            seen.add(account)
            yield self.accounts[account]
            account = self.accounts[account].parent


def show(entity: str, fields: Iterable[str], *where: str) -> list[str]:
    """sacctmgr's argv; `where` are conditions such as ``cluster=main``."""
    return ["sacctmgr", "--parsable2", "--noheader", "--readonly", "show", entity, *where, f"format={','.join(fields)}"]


def parse_tres(text: str) -> dict[str, int]:
    """``cpu=10,gres/gpu:a100=2,mem=100G``; memory in MiB. What is no number is left out."""
    found = {}
    for part in text.split(","):
        name, equals, amount = part.partition("=")
        if not equals:
            continue
        try:
            found[name] = parse_memory(amount) if name == "mem" else int(amount)
        except ValueError:
            continue
    return found


def parse_associations(text: str, cluster: str = "") -> list[Association]:
    """Those of `cluster` (all if empty). Raises Unreadable."""
    associations = []
    for row in _rows(text, ASSOCIATION_FIELDS):
        if cluster and row["Cluster"] != cluster:
            continue
        associations.append(
            Association(
                account=row["Account"],
                user=row["User"],
                partition=row["Partition"],
                parent=row["ParentName"],
                qos=tuple(name for name in row["QOS"].split(",") if name),
                default_qos=row["DefaultQOS"],
                max_tres=parse_tres(row["MaxTRES"]),
                max_tres_per_node=parse_tres(row["MaxTRESPerNode"]),
                group_tres=parse_tres(row["GrpTRES"]),
                max_wall=_time(row["MaxWall"]),
            )
        )
    return associations


def parse_qos(text: str) -> dict[str, Qos]:
    """By name. Raises Unreadable."""
    return {
        row["Name"]: Qos(
            name=row["Name"],
            flags=frozenset(flag for flag in row["Flags"].lower().split(",") if flag),
            max_tres=parse_tres(row["MaxTRES"]),
            max_tres_per_node=parse_tres(row["MaxTRESPerNode"]),
            max_tres_per_user=parse_tres(row["MaxTRESPU"]),
            group_tres=parse_tres(row["GrpTRES"]),
            max_wall=_time(row["MaxWall"]),
            max_jobs_per_user=_count(row["MaxJobsPU"]),
        )
        for row in _rows(text, QOS_FIELDS)
    }


def parse_default_accounts(text: str) -> dict[str, str]:
    """The default account of each user. Raises Unreadable."""
    return {row["User"]: row["DefaultAccount"] for row in _rows(text, USER_FIELDS) if row["DefaultAccount"]}


def _rows(text: str, fields: tuple[str, ...]) -> list[dict[str, str]]:
    """One dictionary a line. Names of accounts and QOS hold no ``|``, the only separator that sacctmgr knows."""
    rows = []
    for line in text.splitlines():
        if not line.strip():
            continue
        cells = line.split("|")
        if len(cells) != len(fields):
            raise Unreadable(f"expected {len(fields)} fields, got {len(cells)}: {line[:200]!r}")
        rows.append(dict(zip(fields, cells, strict=True)))
    return rows


def _time(text: str) -> int | None:
    try:
        return parse_limit(text)
    except ValueError:
        return None


def _count(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
