"""What the spawn page is made of, asked of Slurm once for a Hub: nodes, partitions, reservations, accounts and QOS."""

import asyncio
import grp
import logging
import os
import re
import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from siflab.errors import SiflabError, SlurmUnreachable
from siflab.slurm.accounting import (
    ASSOCIATION_FIELDS,
    QOS_FIELDS,
    USER_FIELDS,
    Accounting,
    Association,
    Qos,
    parse_associations,
    parse_default_accounts,
    parse_qos,
    show,
)
from siflab.slurm.commands import scontrol_config, scontrol_nodes, scontrol_partitions, scontrol_reservations
from siflab.slurm.execute import Completed, Slurm, require_reachable
from siflab.slurm.inventory import Inventory, take_inventory
from siflab.slurm.records import Unreadable
from siflab.slurm.rights import Person, Rights
from siflab.slurm.scontrol import parse_config, parse_nodes, parse_partitions, parse_reservations, shares_devices
from siflab.text import Text
from siflab_spawner.accounts.as_user import find_user
from siflab_spawner.accounts.directory import directory
from siflab_spawner.page.cached import Cached

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

INVENTORY_EVERY = 10.0  # seconds
ACCOUNTING_EVERY = 300.0
_GROUPS_REMEMBERED = 300.0
_WORD = re.compile(r"[a-z]+", re.ASCII)

_facts: "dict[tuple[Slurm, asyncio.AbstractEventLoop], SlurmFacts]" = {}


class SlurmFacts:
    """One for each cluster of a Hub."""

    def __init__(self, slurm: Slurm, log: logging.Logger) -> None:
        self.slurm, self.log = slurm, log
        self.inventory = Cached(self._read_inventory, INVENTORY_EVERY, log, "what is free")
        self.accounting = Cached(self._read_accounting, ACCOUNTING_EVERY, log, "who may use what")
        self.shown_of: Inventory | None = None  # the partitions of this inventory as JSON, for `offer`
        self.shown_nodes = 0
        self.shown: dict[str, dict[str, Any]] = {}
        self._groups: dict[int | str, tuple[float, str | int | None]] = {}

    async def rights(self, user: str, now: datetime | None = None) -> Rights:
        """From what is known at this moment; asks nothing of Slurm."""
        inventory, accounting = self.inventory.look(), self.accounting.look()
        person, known = Person(user), frozenset[str]()
        named = _group_names(inventory) if inventory else set()
        if named:
            person, known = await self._with_groups(user, named)
        return Rights(person, inventory, accounting, now or datetime.now().astimezone(), known)

    async def rights_soon(self, user: str, max_age: float, patience: float) -> Rights:
        """The same from answers not older than `max_age` seconds, if they come within `patience` seconds."""
        await asyncio.gather(self.inventory.at_least(max_age, patience), self.accounting.at_least(max_age, patience))
        return await self.rights(user)

    async def _with_groups(self, user: str, named: set[str]) -> tuple[Person, frozenset[str]]:
        """The person with the groups of the account here, and those of `named` that this machine knows. A directory
        that does not answer proves nothing."""
        try:
            account = await find_user(user)
            mine = await asyncio.gather(*(self._group(gid) for gid in account.groups))
            known = await asyncio.gather(*(self._group(name) for name in named))
        except SiflabError as error:
            self.log.warning("siflab: the Unix groups of %s are not known: %s", user, error)
            return Person(user), frozenset()
        there = {name for name, gid in zip(named, known, strict=True) if gid is not None}
        return Person(user, frozenset(str(name) for name in mine if name is not None)), frozenset(there)

    async def _group(self, key: int | str) -> str | int | None:
        """The name of a gid, or the gid of a name; None where there is none."""
        at, found = self._groups.get(key, (float("-inf"), None))
        if time.monotonic() - at > _GROUPS_REMEMBERED:
            found = await directory.ask(("group", key), lambda: _look_up(key))
            self._groups[key] = (time.monotonic(), found)
        return found

    async def _read_inventory(self) -> Inventory:
        commands = (scontrol_nodes(), scontrol_partitions(), scontrol_reservations())
        answers = await asyncio.gather(*(self._ask(argv) for argv in commands))
        now = datetime.now().astimezone()
        inventory = await asyncio.to_thread(_make_inventory, *(answer.stdout for answer in answers), now)
        if not inventory.partitions:
            raise SlurmUnreachable(Text("Slurm named no partition.", "Slurm 没有列出任何分区。"))
        return inventory

    async def _read_accounting(self) -> Accounting:
        """Four questions for all users; one where nothing of it is enforced."""
        config = parse_config((await self._ask(scontrol_config())).stdout)
        enforced = frozenset(_WORD.findall(config.get("AccountingStorageEnforce", "").lower())) - {"none"}
        private = frozenset(_WORD.findall(config.get("PrivateData", "").lower())) - {"none"}
        found = Accounting(
            enforced=enforced,
            private=private,
            hidden=private if os.geteuid() else frozenset(),
            shares_devices=shares_devices(config),
        )
        if not found.enforces_associations:
            return found
        cluster = (self.slurm.cluster or config.get("ClusterName", "")).lower()
        where = [f"cluster={cluster}"] if cluster else []
        answers = await asyncio.gather(
            self._ask(show("associations", ASSOCIATION_FIELDS, *where)),
            self._ask(show("qos", QOS_FIELDS)),
            self._ask(show("user", USER_FIELDS)),
        )
        try:
            associations, qos, defaults = await asyncio.to_thread(
                _read, *(answer.stdout for answer in answers), cluster
            )
        except Unreadable as error:
            raise SlurmUnreachable(
                Text(f"sacctmgr gave no usable answer ({error})", f"sacctmgr 未给出可用的回答（{error}）")
            ) from error
        return replace(found, associations=tuple(associations), qos=qos, default_accounts=defaults)

    async def _ask(self, argv: list[str]) -> Completed:
        done = require_reachable(await self.slurm.arun(argv, timeout=30.0))
        if not done.ok:
            words = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1][:300]
            raise SlurmUnreachable(Text(f"{argv[0]} says: {words}", f"{argv[0]} 的说明：{words}"))
        return done


def facts_of(spawner: "SingularitySlurmSpawner") -> SlurmFacts:
    """Those of the cluster that a session of this spawner would be submitted to."""
    slurm = replace(spawner.slurm, cluster=spawner.site.slurm.cluster, through=None)
    key = (slurm, asyncio.get_running_loop())
    if key not in _facts:
        _facts[key] = SlurmFacts(slurm, spawner.log)
    return _facts[key]


def _group_names(inventory: Inventory) -> set[str]:
    """The groups that Slurm's lists name at all; hardly a site has any."""
    named = {group for partition in inventory.partitions for group in partition.limits.allow_groups}
    return named | {group for reservation in inventory.reservations for group in reservation.groups}


def _look_up(key: int | str) -> str | int | None:
    try:
        return grp.getgrgid(key).gr_name if isinstance(key, int) else grp.getgrnam(key).gr_gid
    except KeyError:
        return None


def _make_inventory(nodes: str, partitions: str, reservations: str, now: datetime) -> Inventory:
    return take_inventory(parse_nodes(nodes), parse_partitions(partitions), parse_reservations(reservations), now)


def _read(
    associations: str, qos: str, users: str, cluster: str
) -> tuple[list[Association], dict[str, Qos], dict[str, str]]:
    return parse_associations(associations, cluster), parse_qos(qos), parse_default_accounts(users)
