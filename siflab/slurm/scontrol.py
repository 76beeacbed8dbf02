"""What ``scontrol --oneliner show node|partition|reservation|config`` prints, as records.

Each line is a list of ``Key=value``. Free texts (a node's Reason and Comment, the kernel's version in OS) hold blanks
and may look like keys: the first of each key counts, and what is read here stands before the texts that others write.
"""

import re
from dataclasses import dataclass
from datetime import datetime

from siflab.slurm.gres import SHARD, GpuKind, gpus_in_parts, parse_gres
from siflab.slurm.time import parse_limit, parse_timestamp

_KEY = re.compile(r"(?:^|(?<=\s))([A-Za-z][A-Za-z0-9_/:]{0,40})=(\S*)", re.ASCII)
_REASON = re.compile(r"(?:^|(?<=\s))Reason=(.{1,300}?)(?:\s+\[[^\[\]]*\]|\s+[A-Z][A-Za-z]+=|\s*$)", re.ASCII)
_CONFIG = re.compile(r"^([A-Za-z][A-Za-z0-9_]*)\s*=\s(.*)$", re.ASCII | re.MULTILINE)
_NONE = {"", "(null)", "N/A", "None"}
_FLAGS = re.compile(r"[*~#!%$@^-]+$")


@dataclass(frozen=True)
class GpuStock:
    """What a node has of one type of GPU. `used` of parts and of whole GPUs exclude each other as Slurm does: a GPU in
    parts cannot be had whole, and of a GPU that is taken no part is left."""

    type: str
    kind: GpuKind
    total: int
    used: int


@dataclass(frozen=True)
class Node:
    """One node; memory in MiB is what jobs may be given and have been given, not what processes use. `states` are
    Slurm's words: the base state first, then flags."""

    name: str
    states: tuple[str, ...]
    partitions: tuple[str, ...]
    cpus_total: int
    cpus_used: int
    memory_total: int
    memory_used: int
    gpus: tuple[GpuStock, ...]
    cores: int = 0
    reason: str = ""
    reservation: str = ""


@dataclass(frozen=True)
class Partition:
    """The limits of one partition; times in seconds, memory in MiB, None where there is no limit. An empty list of
    what is allowed allows all."""

    name: str
    state: str
    max_time: int | None
    qos: str
    allow_groups: tuple[str, ...]
    allow_accounts: tuple[str, ...]
    deny_accounts: tuple[str, ...]
    allow_qos: tuple[str, ...]
    deny_qos: tuple[str, ...]
    max_cpus_per_node: int | None
    max_memory_per_node: int | None


@dataclass(frozen=True)
class Reservation:
    """One reservation. Names with a ``-`` in front are shut out. `nodes` is Slurm's list, such as ``gpu[01-03],cpu01``;
    `cores` those that are reserved on them, None where Slurm does not say."""

    name: str
    start: datetime | None
    end: datetime | None
    active: bool
    partition: str
    nodes: str
    cores: int | None
    users: tuple[str, ...]
    accounts: tuple[str, ...]
    groups: tuple[str, ...]
    flags: frozenset[str]


def key_values(line: str) -> dict[str, str]:
    """The keys of one line, the first of each."""
    found: dict[str, str] = {}
    for key, value in _KEY.findall(line):
        found.setdefault(key, value)
    return found


def parse_nodes(text: str) -> list[Node]:
    """From ``scontrol --details --oneliner show node``. Lines that are none are left out."""
    nodes = []
    for line in text.splitlines():
        keys = key_values(line)
        if not keys.get("NodeName"):
            continue
        words = _REASON.search(line)
        nodes.append(
            Node(
                name=keys["NodeName"],
                states=_states(keys.get("State", "UNKNOWN")),
                partitions=_names(keys.get("Partitions", "")),
                cpus_total=_number(keys.get("CPUEfctv")) or _number(keys.get("CPUTot")) or 0,
                cpus_used=_number(keys.get("CPUAlloc")) or 0,
                memory_total=max(0, (_number(keys.get("RealMemory")) or 0) - (_number(keys.get("MemSpecLimit")) or 0)),
                memory_used=_number(keys.get("AllocMem")) or 0,
                gpus=_stock(keys.get("Gres", ""), keys.get("GresUsed", "")),
                cores=(_number(keys.get("Sockets")) or 0) * (_number(keys.get("CoresPerSocket")) or 0),
                reason="" if not words or words[1] in _NONE else words[1].strip(),
                reservation="" if keys.get("ReservationName", "") in _NONE else keys["ReservationName"],
            )
        )
    return nodes


def parse_partitions(text: str) -> list[Partition]:
    """From ``scontrol --all --oneliner show partition``."""
    partitions = []
    for line in text.splitlines():
        keys = key_values(line)
        if not keys.get("PartitionName"):
            continue
        partitions.append(
            Partition(
                name=keys["PartitionName"],
                state=keys.get("State", "UP").upper(),
                max_time=_limit(keys.get("MaxTime", "")),
                qos="" if keys.get("QoS", "") in _NONE else keys["QoS"],
                allow_groups=_allowed(keys.get("AllowGroups", "ALL")),
                allow_accounts=_allowed(keys.get("AllowAccounts", "ALL")),
                deny_accounts=_names(keys.get("DenyAccounts", "")),
                allow_qos=_allowed(keys.get("AllowQos", "ALL")),
                deny_qos=_names(keys.get("DenyQos", "")),
                max_cpus_per_node=_number(keys.get("MaxCPUsPerNode")),
                max_memory_per_node=_number(keys.get("MaxMemPerNode")) or None,
            )
        )
    return partitions


def parse_reservations(text: str) -> list[Reservation]:
    """From ``scontrol --oneliner show reservation``; ``No reservations in the system`` is none."""
    reservations = []
    for line in text.splitlines():
        keys = key_values(line)
        if not keys.get("ReservationName"):
            continue
        reservations.append(
            Reservation(
                name=keys["ReservationName"],
                start=parse_timestamp(keys.get("StartTime", "")),
                end=parse_timestamp(keys.get("EndTime", "")),
                active=keys.get("State", "").upper() == "ACTIVE",
                partition="" if keys.get("PartitionName", "") in _NONE else keys["PartitionName"],
                nodes="" if keys.get("Nodes", "") in _NONE else keys["Nodes"],
                cores=_number(keys.get("CoreCnt")),
                users=_names(keys.get("Users", "")),
                accounts=_names(keys.get("Accounts", "")),
                groups=_names(keys.get("Groups", "")),
                flags=frozenset(_names(keys.get("Flags", "").upper())),
            )
        )
    return reservations


def parse_config(text: str) -> dict[str, str]:
    """From ``scontrol show config``: each key with its value as it stands."""
    return {key: value.strip() for key, value in _CONFIG.findall(text)}


def shares_devices(config: dict[str, str]) -> bool:
    """Whether jobs can use GPUs that they were not given: only CUDA_VISIBLE_DEVICES keeps them apart. True where the
    configuration says so (ConstrainDevices of cgroup.conf, TaskPlugin of slurm.conf), not where it is silent."""
    plugins = config.get("TaskPlugin", "")
    return config.get("ConstrainDevices", "").lower() == "no" or (plugins != "" and "cgroup" not in plugins)


def _states(text: str) -> tuple[str, ...]:
    """``DOWN*+DRAIN`` is DOWN, NOT_RESPONDING, DRAIN; ``IDLE~`` is IDLE (powered down, but to be had)."""
    found: list[str] = []
    for word in text.upper().split("+"):
        bare = _FLAGS.sub("", word)
        found.append(bare or "UNKNOWN")
        if word.endswith("*"):
            found.append("NOT_RESPONDING")
    return tuple(dict.fromkeys(found))


def _stock(gres: str, used: str) -> tuple[GpuStock, ...]:
    totals: dict[tuple[str, GpuKind], int] = {}
    for record in parse_gres(gres):
        if record.gpu_kind and record.count:
            key = (record.type, record.gpu_kind)
            totals[key] = totals.get(key, 0) + record.count
    taken = dict.fromkeys(totals, 0)
    untyped: dict[str, int] = {}
    for record in parse_gres(used):
        if record.gpu_kind and (record.type, record.gpu_kind) in taken:
            taken[record.type, record.gpu_kind] += record.count
        elif record.gpu_kind and not record.type:
            untyped[record.name] = untyped.get(record.name, 0) + record.count
    for name, count in untyped.items():  # Slurm did not say of which type: they are taken from where there are some
        for (kind_type, kind), total in totals.items():
            if (SHARD if kind == "shard" else "gpu") != name:
                continue
            share = min(count, total - taken[kind_type, kind])
            taken[kind_type, kind] += share
            count -= share
    _share_cards(totals, taken, gpus_in_parts(used))
    return tuple(
        GpuStock(kind_type, kind, total, min(taken[kind_type, kind], total))
        for (kind_type, kind), total in sorted(totals.items())
    )


def _share_cards(totals: dict[tuple[str, GpuKind], int], taken: dict[tuple[str, GpuKind], int], in_parts: int) -> None:
    """Where GPUs may be had whole or in parts, what is taken one way is gone the other way too."""
    shards = [key for key in totals if key[1] == "shard"]
    whole = [key for key in totals if key[1] == "gpu"]
    if not shards or not whole:
        return
    cards = sum(totals[key] for key in whole)
    used_whole = sum(taken[key] for key in whole)
    for key in shards:
        taken[key] = max(taken[key], min(totals[key], taken[key] + used_whole * totals[key] // max(cards, 1)))
    for key in whole:
        share = min(in_parts, totals[key] - taken[key])
        taken[key] += share
        in_parts -= share


def _names(text: str) -> tuple[str, ...]:
    return () if text in _NONE else tuple(name for name in text.split(",") if name)


def _allowed(text: str) -> tuple[str, ...]:
    return () if text.upper() in ("ALL", "(NULL)", "") else _names(text)


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 13 else None


def _limit(text: str) -> int | None:
    try:
        return parse_limit(text)
    except ValueError:
        return None
