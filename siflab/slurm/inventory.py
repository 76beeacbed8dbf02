"""What a cluster has and what of it is free, per partition and GPU type, read per node (uneven nodes are common)."""

import re
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from siflab.errors import SlurmUnreachable
from siflab.slurm.commands import scontrol_nodes, sinfo_nodes
from siflab.slurm.execute import Slurm, require_reachable
from siflab.slurm.gres import parse_gres
from siflab.slurm.records import NodeRecord, Unreadable, parse_sinfo
from siflab.slurm.time import format_time
from siflab.text import Text

_USABLE = {"IDLE", "MIXED", "ALLOCATED", "COMPLETING", "PLANNED", "MIX", "ALLOC"}
_NODE_NAME = re.compile(r"\bNodeName=(\S+)")
_GRES_USED = re.compile(r"\bGresUsed=(\S+)")


@dataclass(frozen=True)
class GpuCount:
    type: str
    total: int
    used: int


@dataclass(frozen=True)
class PartitionInventory:
    """`nodes_available` are those that are up, free or not; times in Slurm's notation."""

    name: str
    nodes_total: int
    nodes_available: int
    cpus_total: int
    cpus_idle: int
    gpus: tuple[GpuCount, ...]
    max_time: str | None

    @property
    def state(self) -> str:
        return "up" if self.nodes_available else "down"

    def as_dict(self) -> dict[str, object]:
        return {
            "name": self.name,
            "state": self.state,
            "nodes_total": self.nodes_total,
            "nodes_available": self.nodes_available,
            "cpus_total": self.cpus_total,
            "cpus_idle": self.cpus_idle,
            "gpus": [vars(gpu) for gpu in self.gpus],
            "max_time": self.max_time,
        }


@dataclass(frozen=True)
class Inventory:
    partitions: tuple[PartitionInventory, ...]
    taken_at: datetime

    def as_dict(self) -> dict[str, object]:
        return {"partitions": [p.as_dict() for p in self.partitions], "taken_at": self.taken_at.isoformat()}


def parse_gres_used(text: str) -> dict[str, str]:
    """GresUsed of each node, from ``scontrol --details --oneliner show node``."""
    used = {}
    for line in text.splitlines():
        name, gres = _NODE_NAME.search(line), _GRES_USED.search(line)
        if name and gres:
            used[name[1]] = gres[1]
    return used


def summarize(nodes: list[NodeRecord], gres_used: dict[str, str], now: datetime) -> Inventory:
    """One entry a partition, in Slurm's order. GPUs of nodes that are not up count as used: nobody can have them."""
    by_partition: dict[str, list[NodeRecord]] = defaultdict(list)
    for node in nodes:
        by_partition[node.partition].append(node)
    partitions = []
    for name, members in by_partition.items():
        totals: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        up = [node for node in members if node.state.upper() in _USABLE]
        for node in members:
            used = {gres.type: gres.count for gres in parse_gres(gres_used.get(node.name, "")) if gres.name == "gpu"}
            for gres in node.gres:
                if gres.name == "gpu" and gres.count:
                    totals[gres.type][0] += gres.count
                    totals[gres.type][1] += used.get(gres.type, used.get("", 0)) if node in up else gres.count
        limits = [node.max_time for node in members]
        longest = None if None in limits else max(limit for limit in limits if limit is not None)
        partitions.append(
            PartitionInventory(
                name=name,
                nodes_total=len(members),
                nodes_available=len(up),
                cpus_total=sum(node.cpus_total for node in members),
                cpus_idle=sum(node.cpus_idle for node in up),
                gpus=tuple(GpuCount(kind, total, min(used, total)) for kind, (total, used) in sorted(totals.items())),
                max_time=None if longest is None else format_time(longest),
            )
        )
    return Inventory(tuple(partitions), now)


def read_inventory(slurm: Slurm) -> Inventory:
    """Two questions to Slurm. Raises SlurmUnreachable, also when the answer cannot be read."""
    nodes = require_reachable(slurm.run(sinfo_nodes()))
    details = require_reachable(slurm.run(scontrol_nodes()))
    try:
        records = parse_sinfo(nodes.stdout) if nodes.ok else []
    except Unreadable as error:
        raise SlurmUnreachable(
            Text(f"sinfo gave an answer that cannot be read ({error})", f"sinfo 的输出无法识别（{error}）")
        ) from error
    return summarize(records, parse_gres_used(details.stdout), datetime.now().astimezone())
