"""What a cluster has and what of it is free, per partition, node and GPU type; nodes are uneven, so each is read."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from siflab.errors import SlurmUnreachable
from siflab.slurm.commands import scontrol_nodes, scontrol_partitions
from siflab.slurm.execute import Slurm, require_reachable
from siflab.slurm.gres import SHARD, GpuKind
from siflab.slurm.node_states import NodeState, node_state
from siflab.slurm.running_time_limits import has_node
from siflab.slurm.scontrol import Node, Partition, Reservation, parse_nodes, parse_partitions
from siflab.slurm.time import format_time
from siflab.text import Text


@dataclass(frozen=True)
class GpuCount:
    """GPUs of one type. `down` are those of nodes that take no jobs; they are in `total` and not in `free`."""

    type: str
    kind: GpuKind
    total: int
    free: int
    down: int

    @property
    def used(self) -> int:
        """All that nobody can have now."""
        return self.total - self.free


@dataclass(frozen=True)
class Shape:
    """What one node can hold, or can hold now: CPUs, memory in MiB, GPUs by type."""

    cpus: int
    memory: int
    gpus: tuple[tuple[str, GpuKind, int], ...] = ()

    def gpu_count(self, gpu_type: str | None) -> int:
        """GPUs that a request for this type may have: with no type whole GPUs and MIG slices alike, as Slurm does;
        ``shard`` are parts of GPUs."""
        if gpu_type == SHARD:
            return sum(count for _, kind, count in self.gpus if kind == "shard")
        return sum(
            count for name, kind, count in self.gpus if kind != "shard" and (gpu_type is None or name == gpu_type)
        )

    def holds(self, gpus: int, gpu_type: str | None, cpus: int, memory: int) -> bool:
        return self.cpus >= cpus and self.memory >= memory and (not gpus or self.gpu_count(gpu_type) >= gpus)


@dataclass(frozen=True)
class NodeInventory:
    """One node with the state in which Slurm has it."""

    node: Node
    state: NodeState

    @property
    def gpus(self) -> tuple[GpuCount, ...]:
        return tuple(
            GpuCount(
                stock.type,
                stock.kind,
                stock.total,
                free=stock.total - stock.used if self.state.is_open else 0,
                down=0 if self.state.is_up else stock.total,
            )
            for stock in self.node.gpus
        )

    @cached_property
    def ever(self) -> Shape:
        return Shape(
            self.node.cpus_total,
            self.node.memory_total,
            tuple((stock.type, stock.kind, stock.total) for stock in self.node.gpus),
        )

    @cached_property
    def now(self) -> Shape:
        """What is free of it, whoever may use the node."""
        return Shape(
            max(0, self.node.cpus_total - self.node.cpus_used),
            max(0, self.node.memory_total - self.node.memory_used),
            tuple((stock.type, stock.kind, stock.total - stock.used) for stock in self.node.gpus),
        )


@dataclass(frozen=True)
class PartitionInventory:
    """A partition with its nodes. Free is what anyone may have now: neither down nor reserved nor in use."""

    limits: Partition
    nodes: tuple[NodeInventory, ...]

    @property
    def name(self) -> str:
        return self.limits.name

    @property
    def nodes_up(self) -> int:
        return sum(node.state.is_up for node in self.nodes)

    @property
    def nodes_idle(self) -> int:
        return sum(node.state.name == "idle" for node in self.nodes)

    @cached_property
    def cpus_total(self) -> int:
        return sum(node.node.cpus_total for node in self.nodes)

    @cached_property
    def cpus_free(self) -> int:
        return sum(node.now.cpus for node in self.nodes if node.state.is_open)

    @cached_property
    def gpus(self) -> tuple[GpuCount, ...]:
        """By type, sorted."""
        counts: dict[tuple[str, GpuKind], list[int]] = defaultdict(lambda: [0, 0, 0])
        for node in self.nodes:
            for gpu in node.gpus:
                sums = counts[gpu.type, gpu.kind]
                sums[0], sums[1], sums[2] = sums[0] + gpu.total, sums[1] + gpu.free, sums[2] + gpu.down
        return tuple(GpuCount(name, kind, *sums) for (name, kind), sums in sorted(counts.items()))

    @cached_property
    def ever(self) -> frozenset[Shape]:
        """What its nodes can hold when they are empty and up, each shape once."""
        return frozenset(node.ever for node in self.nodes)

    def now(self, reservation: str | None = None) -> frozenset[Shape]:
        """What is free on the nodes that a job without a reservation, or in `reservation`, may have."""
        return self._now.get(reservation or "", frozenset())

    def gpu_numbers(self, gpu_type: str | None, reservations: frozenset[str]) -> tuple[int, int]:
        """(free, all) GPUs of this type. Free are those on nodes that nobody reserved (``""``) or one of `reservations`
        did. Counted once for all who ask."""
        key = (gpu_type, reservations.intersection(self._now))
        if key not in self._counted:
            up = [node for node in self.nodes if node.state.is_up and node.state.reservation in reservations]
            free = sum(node.now.gpu_count(gpu_type) for node in up)
            self._counted[key] = (free, sum(node.ever.gpu_count(gpu_type) for node in self.nodes))
        return self._counted[key]

    @cached_property
    def _counted(self) -> dict[tuple[str | None, frozenset[str]], tuple[int, int]]:
        return {}

    @cached_property
    def _now(self) -> dict[str, frozenset[Shape]]:
        by_reservation: dict[str, set[Shape]] = defaultdict(set)
        for node in self.nodes:
            if node.state.is_up:
                by_reservation[node.state.reservation].add(node.now)
        return {name: frozenset(shapes) for name, shapes in by_reservation.items()}

    def as_dict(self) -> dict[str, object]:
        """The `PartitionInventory` of openapi.yaml: GPUs that nobody can have count as used."""
        return {
            "name": self.name,
            "state": "up" if self.nodes_up else "down",
            "nodes_total": len(self.nodes),
            "nodes_available": self.nodes_up,
            "cpus_total": self.cpus_total,
            "cpus_idle": self.cpus_free,
            "gpus": [{"type": gpu.type, "total": gpu.total, "used": gpu.used} for gpu in self.gpus],
            "max_time": None if self.limits.max_time is None else format_time(self.limits.max_time),
        }


@dataclass(frozen=True)
class Inventory:
    """All of a cluster at one moment."""

    partitions: tuple[PartitionInventory, ...]
    reservations: tuple[Reservation, ...]
    taken_at: datetime

    @cached_property
    def by_name(self) -> dict[str, PartitionInventory]:
        return {partition.name: partition for partition in self.partitions}

    def as_dict(self) -> dict[str, object]:
        return {"partitions": [p.as_dict() for p in self.partitions], "taken_at": self.taken_at.isoformat()}


def take_inventory(
    nodes: list[Node], partitions: list[Partition], reservations: list[Reservation], now: datetime
) -> Inventory:
    """One entry a partition, in Slurm's order; a node in several partitions is in each."""
    members: dict[str, list[NodeInventory]] = defaultdict(list)
    reserved = _reserved_nodes(nodes, reservations)
    for node in nodes:
        seen = NodeInventory(node, node_state(node, reserved.get(node.name)))
        for name in node.partitions:
            members[name].append(seen)
    return Inventory(
        tuple(PartitionInventory(partition, tuple(members[partition.name])) for partition in partitions),
        tuple(reservations),
        now,
    )


def _reserved_nodes(nodes: list[Node], reservations: list[Reservation]) -> dict[str, Reservation]:
    """Which reservation has a node as a whole at this moment. A node's own state says so only some time after, and a
    reservation of some of a node's cores leaves the rest to others."""
    reserved: dict[str, Reservation] = {}
    by_name = {reservation.name: reservation for reservation in reservations}
    for node in nodes:
        if node.reservation in by_name:
            reserved[node.name] = by_name[node.reservation]
    for reservation in reservations:
        if not reservation.active or not reservation.nodes or "FLEX" in reservation.flags:
            continue
        members = [node for node in nodes if has_node(reservation.nodes, node.name)]
        cores = sum(node.cores for node in members)
        if reservation.cores is None or reservation.cores >= cores:
            for node in members:
                reserved.setdefault(node.name, reservation)
    return reserved


def read_inventory(slurm: Slurm) -> Inventory:
    """Two questions to Slurm. Raises SlurmUnreachable, also when the answer cannot be read."""
    nodes = require_reachable(slurm.run(scontrol_nodes()))
    partitions = require_reachable(slurm.run(scontrol_partitions()))
    found = parse_partitions(partitions.stdout)
    if not found:
        raise SlurmUnreachable(
            Text(
                "scontrol named no partition, so it is not known what is free", "scontrol 未列出分区，无法得知空闲资源"
            )
        )
    return take_inventory(parse_nodes(nodes.stdout), found, [], datetime.now().astimezone())
