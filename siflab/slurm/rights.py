"""What one person may ask of Slurm: names that they may use, and how much of each thing at most, with the reason.

Only what is proven is forbidden. Where the accounting database is away, hides the associations, or is not enforced
(AccountingStorageEnforce), nothing is known, and sbatch decides. Which limit counts where several are set: "Resource
Limits" in Slurm's documentation (QOS of the partition, QOS of the job, association, the accounts above it).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from siflab.errors import FieldError
from siflab.slurm.accounting import Accounting, Association, Qos, Tres
from siflab.slurm.inventory import Inventory
from siflab.slurm.names_allowed import may_use_partition, may_use_reservation
from siflab.slurm.rights_words import (
    Ceiling,
    for_everyone,
    in_partition,
    largest_node,
    not_yours,
    per_job,
    per_node,
    per_person,
    until_end,
)
from siflab.slurm.scontrol import Partition, Reservation

_KEYS = {"cpus": "cpu", "memory": "mem"}


@dataclass(frozen=True)
class Person:
    """`groups` are the Unix groups of the account, None where they could not be looked up."""

    name: str
    groups: frozenset[str] | None = None


@dataclass(frozen=True)
class Target:
    """What of a request decides how much it may have; None is what Slurm puts there by itself."""

    partition: str
    gpu_type: str | None = None
    gpus: int = 0
    account: str | None = None
    qos: str | None = None
    reservation: str | None = None


class Rights:
    """`known_groups` are the groups of Slurm's lists that this machine knows: of others nothing can be proven."""

    def __init__(
        self,
        person: Person,
        inventory: Inventory | None,
        accounting: Accounting | None,
        now: datetime,
        known_groups: frozenset[str] = frozenset(),
    ) -> None:
        self.person, self.now, self.known_groups = person, now, known_groups
        self.inventory, self.accounting = inventory, accounting or Accounting()
        self.associations = self.accounting.by_user.get(person.name, [])

    # ---- what there is

    @property
    def accounts(self) -> list[str]:
        """Those that this person may use, the default first; empty where nothing is known."""
        names = dict.fromkeys(association.account for association in self.associations)
        default = self.accounting.default_accounts.get(self.person.name)
        return sorted(names, key=lambda name: (name != default, name))

    @property
    def reservations(self) -> list[Reservation]:
        """Those that are not over and that this person may use."""
        every = self.inventory.reservations if self.inventory else ()
        return [one for one in every if not self._is_over(one) and may_use_reservation(one, self) is not False]

    def association(self, target: Target) -> Association | None:
        """The one that a job would run under; None where it is not known."""
        account = target.account or self.accounting.default_accounts.get(self.person.name)
        mine = [one for one in self.associations if one.account == account]
        exact = [one for one in mine if one.partition == target.partition]
        return next(iter(exact or [one for one in mine if not one.partition]), None)

    def qos_names(self, target: Target) -> tuple[str, ...] | None:
        association = self.association(target)
        return association.qos if association and association.qos else None

    def qos_of(self, target: Target) -> str | None:
        """The QOS that a job would have."""
        if target.qos:
            return target.qos
        association = self.association(target)
        if association is None:
            return None
        if association.default_qos:
            return association.default_qos
        if len(association.qos) == 1:
            return association.qos[0]
        return "normal" if "normal" in association.qos else None

    def partition(self, name: str) -> Partition | None:
        found = self.inventory.by_name.get(name) if self.inventory else None
        return found.limits if found else None

    def reservation(self, name: str | None) -> Reservation | None:
        every = self.inventory.reservations if self.inventory else ()
        return next((one for one in every if one.name == name), None)

    # ---- what is forbidden

    def obstacles(self, target: Target) -> list[FieldError]:
        """What this person may not use at all, by field."""
        errors = [self._partition_obstacle(target), self._account_obstacle(target)]
        errors += [self._qos_obstacle(target), self._reservation_obstacle(target)]
        return [error for error in errors if error is not None]

    def _partition_obstacle(self, target: Target) -> FieldError | None:
        known = self.partition(target.partition)
        if self.inventory is None or (known is None and "partitions" in self.accounting.hidden):
            return None
        association = self.association(target)
        return may_use_partition(
            target.partition,
            known,
            self,
            account=target.account or (association.account if association else None),
            qos=self.qos_of(target),
        )

    def _account_obstacle(self, target: Target) -> FieldError | None:
        if not self.associations or not self.accounting.enforces_associations:
            return None
        account = target.account or self.accounting.default_accounts.get(self.person.name)
        if account is None or self.association(target) is not None:
            return None
        usable = [name for name in self.accounts if name != account]
        elsewhere = [one.partition for one in self.associations if one.account == account]
        if target.account is None and not elsewhere:  # the database may mean the default account of another cluster
            return None
        return not_yours("account", account, usable, partition=target.partition if elsewhere else None)

    def _qos_obstacle(self, target: Target) -> FieldError | None:
        if not target.qos or not self.accounting.enforces_qos:
            return None
        names = self.qos_names(target)
        if names is not None and target.qos not in names:
            return not_yours("qos", target.qos, names)
        if self.accounting.qos and target.qos not in self.accounting.qos:
            return not_yours("qos", target.qos, names or ())
        return None

    def _reservation_obstacle(self, target: Target) -> FieldError | None:
        reservation = self.reservation(target.reservation)
        if not target.reservation or self.inventory is None:
            return None
        if reservation is None and "reservations" in self.accounting.hidden:
            return None
        usable = [one.name for one in self.reservations]
        if reservation is None or self._is_over(reservation) or may_use_reservation(reservation, self) is False:
            return not_yours("reservation", target.reservation, usable)
        if reservation.partition and reservation.partition != target.partition:
            return not_yours("reservation", target.reservation, usable, partition=target.partition)
        return None

    def _is_over(self, reservation: Reservation) -> bool:
        return reservation.end is not None and reservation.end <= self.now

    # ---- how much

    def ceilings(self, target: Target) -> dict[str, Ceiling]:
        """The least of the limits on ``gpus``, ``cpus``, ``memory`` (MiB) and ``time`` (seconds) of one node's job; a
        field without a known limit is left out."""
        found: dict[str, Ceiling] = {}
        for name, ceiling in self._all_ceilings(target):
            if name not in found or ceiling.value < found[name].value:
                found[name] = ceiling
        return found

    def _all_ceilings(self, target: Target) -> Iterator[tuple[str, Ceiling]]:
        partition = self.inventory.by_name.get(target.partition) if self.inventory else None
        flags: frozenset[str] = frozenset()
        if self.accounting.enforces_limits:
            flags = frozenset().union(*(qos.flags for qos in self._qos_chain(target)))
            for name, keys in self._tres_keys(target).items():
                for key in keys:
                    for ceiling in self._tres_ceilings(target, name, key):
                        yield name, ceiling
            yield from (("time", ceiling) for ceiling in self._wall_ceilings(target))
        if partition is not None:
            limits = partition.limits
            if limits.max_time is not None and "partitiontimelimit" not in flags:
                yield "time", in_partition("time", limits.max_time, limits.name)
            if limits.max_cpus_per_node is not None:
                yield "cpus", in_partition("cpus", limits.max_cpus_per_node, limits.name)
            if limits.max_memory_per_node is not None:
                yield "memory", in_partition("memory", limits.max_memory_per_node, limits.name)
            yield from largest_node(partition, target.gpu_type, target.gpus)
        reservation = next((one for one in self.reservations if one.name == target.reservation), None)
        if reservation is not None and reservation.end is not None:
            yield "time", until_end(reservation, self.now)

    def _tres_keys(self, target: Target) -> dict[str, list[str]]:
        if target.gpu_type == "shard":
            gpus = ["gres/shard"]
        else:
            gpus = ["gres/gpu", *([f"gres/gpu:{target.gpu_type}"] if target.gpu_type else [])]
        return {"gpus": gpus, **{name: [key] for name, key in _KEYS.items()}}

    def _qos_chain(self, target: Target) -> list[Qos]:
        """The partition's QOS, then the job's (the other way round with OverPartQOS)."""
        partition, known = self.partition(target.partition), self.accounting.qos
        first = known.get(partition.qos) if partition and partition.qos else None
        second = known.get(self.qos_of(target) or "")
        chain = [qos for qos in (first, second) if qos is not None]
        return chain[::-1] if second is not None and "overpartqos" in second.flags else chain

    def _holders(self, target: Target) -> list[Qos | Association]:
        """Those whose limits on a job count, the one that rules first."""
        association = self.association(target)
        return [*self._qos_chain(target), *([association] if association else [])]

    def _tres_ceilings(self, target: Target, name: str, key: str) -> Iterator[Ceiling]:
        chain, association = self._qos_chain(target), self.association(target)

        def first(attribute: str) -> tuple[Qos | Association, int] | None:
            for holder in self._holders(target):
                tres: Tres = getattr(holder, attribute, {})
                if key in tres:
                    return holder, tres[key]
            return None

        for attribute, words in (("max_tres", per_job), ("max_tres_per_node", per_node)):
            if found := first(attribute):
                yield words(name, found[1], found[0])
        for qos in chain:
            if key in qos.max_tres_per_user:
                yield per_person(name, qos.max_tres_per_user[key], qos)
                break
        group = next((qos for qos in chain if key in qos.group_tres), None)
        if group is not None:
            yield for_everyone(name, group.group_tres[key], group)
        elif association is not None:
            for holder in (association, *self.accounting.above(association.account)):
                if key in holder.group_tres:
                    yield for_everyone(name, holder.group_tres[key], holder)

    def _wall_ceilings(self, target: Target) -> Iterator[Ceiling]:
        for holder in self._holders(target):
            if holder.max_wall is not None:
                yield per_job("time", holder.max_wall, holder)
                return
