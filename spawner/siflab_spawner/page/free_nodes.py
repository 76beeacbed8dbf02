"""Whether there is a node for a request: ever, and at this moment."""

from collections.abc import Iterable

from siflab.slurm.inventory import PartitionInventory, Shape
from siflab.slurm.rights import Rights, Target


def fits_ever(rights: Rights, target: Target, gpus: int, cpus: int, memory: int) -> bool:
    """True also where nothing is known."""
    partition = _partition(rights, target)
    if partition is None or not partition.ever:
        return True
    return _holds(partition.ever, target, gpus, cpus, memory)


def has_type(rights: Rights, target: Target) -> bool:
    """A node of the partition has such a GPU; True also where nothing is known."""
    partition = _partition(rights, target)
    return partition is None or not partition.ever or any(shape.gpu_count(target.gpu_type) for shape in partition.ever)


def fits_now(rights: Rights, target: Target, gpus: int, cpus: int, memory: int) -> bool:
    """False where nothing is known. Jobs that wait already may be served first all the same."""
    partition = _partition(rights, target)
    if partition is None or partition.limits.state != "UP":
        return False
    reservation = rights.reservation(target.reservation)
    if target.reservation and (reservation is None or not reservation.active):
        return False
    return any(_holds(partition.now(name), target, gpus, cpus, memory) for name in _open_to(rights, target))


def gpu_numbers(rights: Rights, target: Target) -> tuple[int, int] | None:
    """(free, all) of the GPUs that this target means, on the nodes that it may have; None where nothing is known."""
    partition = _partition(rights, target)
    if partition is None:
        return None
    return partition.gpu_numbers(target.gpu_type, _open_to(rights, target))


def _partition(rights: Rights, target: Target) -> PartitionInventory | None:
    return rights.inventory.by_name.get(target.partition) if rights.inventory else None


def _open_to(rights: Rights, target: Target) -> frozenset[str]:
    """The reservations whose nodes a job may have: its own, or none and those that draw jobs in (MAGNETIC)."""
    if target.reservation:
        return frozenset({target.reservation})
    return frozenset({"", *(one.name for one in rights.reservations if "MAGNETIC" in one.flags and one.active)})


def _holds(shapes: Iterable[Shape], target: Target, gpus: int, cpus: int, memory: int) -> bool:
    return any(shape.holds(gpus, target.gpu_type, cpus, memory) for shape in shapes)
