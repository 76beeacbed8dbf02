"""GET /hub/api/siflab/offer: what there is, what a person may use, and how far. docs/spawn-page.md has its JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from siflab.config import usable_profiles
from siflab.errors import Invalid
from siflab.slurm.inventory import GpuCount, NodeInventory, PartitionInventory
from siflab.slurm.rights import Rights, Target
from siflab.text import Text
from siflab_spawner.accounts.groups import group_names
from siflab_spawner.page.offer_fields import ProfileOffer, impossible
from siflab_spawner.page.slurm_facts import SlurmFacts, facts_of

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

NODES_LISTED = 200
_OLD = 60.0  # seconds from which on figures are called old
_FIRST = 1.0  # seconds that the first page waits for figures at all
_SOON = 0.5  # and one that comes after a long time in which nobody looked
_NOTHING_YET = Text("Slurm has not answered yet.", "Slurm 尚未响应。")
_STATES = {"UP": "up", "DOWN": "down", "DRAIN": "drain", "INACTIVE": "inactive"}

_SHARED_DEVICES = Text(
    "This cluster does not keep the GPUs of a node apart: a program can use those of others. Use only the ones that "
    "CUDA_VISIBLE_DEVICES names, and do not change it.",
    "本集群不隔离同一节点上的 GPU：程序可能用到他人的 GPU。请只使用 CUDA_VISIBLE_DEVICES 指定的 GPU，"
    "且不要修改该变量。",
)


async def offer_for(spawner: "SingularitySlurmSpawner", selection: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """From what is kept in memory, at once. `selection` is a choice as it stands on the page, perhaps half made: its
    profile's fields are those for it. Never raises for what Slurm does or for what is selected."""
    facts = facts_of(spawner)
    if facts.inventory.look() is None:
        await facts.rights_soon(spawner.user.name, float("inf"), _FIRST)
    elif not facts.inventory.failing:
        await facts.inventory.at_least(_OLD, _SOON)
    rights = await facts.rights(spawner.user.name)
    profiles = usable_profiles(spawner.site, "session", await group_names(spawner))
    wanted = dict(selection or {})
    offers: dict[str, Any] = {}
    for key, profile in profiles.items():
        selected = wanted if wanted.get("profile") == key else {}
        try:
            offered = ProfileOffer(spawner.site, key, profile, rights, selected).as_dict()
            uses_gpus = bool(profile.gpus or profile.allow.gpus)
            note = _SHARED_DEVICES.as_dict() if uses_gpus and rights.accounting.shares_devices else None
            offers[key] = {**offered, "note": note}
        except Invalid as error:
            offers[key] = impossible(error)
    shown = dict.fromkeys(name for one in profiles.values() for name in (one.partition, *one.allow.partition))
    return {
        **_freshness(facts),
        "partitions": _partitions(facts, rights, shown),
        "accounts": _accounts(rights),
        "qos": _qos(rights),
        "reservations": _reservations(rights),
        "profiles": offers,
    }


def _freshness(facts: SlurmFacts) -> dict[str, Any]:
    inventory, age = facts.inventory.value, facts.inventory.age
    message = facts.inventory.trouble or (_NOTHING_YET if inventory is None else None)
    return {
        "taken_at": inventory.taken_at.isoformat() if inventory else None,
        "age_seconds": None if age is None else int(age),
        "stale": facts.inventory.failing or age is None or age > _OLD,
        "message": message.as_dict() if message else None,
    }


def _partitions(facts: SlurmFacts, rights: Rights, names: Mapping[str, None]) -> list[dict[str, Any]]:
    """Made once for all that look at the same inventory. Where Slurm shows nobody its nodes, they are not named."""
    inventory, listed = rights.inventory, 0 if "nodes" in rights.accounting.private else NODES_LISTED
    if inventory is None:
        return []
    if facts.shown_of is not inventory or facts.shown_nodes != listed:
        facts.shown_of, facts.shown_nodes, facts.shown = inventory, listed, {}
    for name in names:
        if name in inventory.by_name and name not in facts.shown:
            facts.shown[name] = partition_json(inventory.by_name[name], listed)
    return [facts.shown[partition.name] for partition in inventory.partitions if partition.name in names]


def partition_json(partition: PartitionInventory, listed: int = NODES_LISTED) -> dict[str, Any]:
    return {
        "name": partition.name,
        "state": _STATES.get(partition.limits.state, "down"),
        "max_time_seconds": partition.limits.max_time,
        "nodes_total": len(partition.nodes),
        "nodes_up": partition.nodes_up,
        "nodes_idle": partition.nodes_idle,
        "cpus_total": partition.cpus_total,
        "cpus_free": partition.cpus_free,
        "gpus": [_gpu(gpu) for gpu in partition.gpus],
        "nodes": [_node(node) for node in partition.nodes[:listed]],
        "nodes_left_out": max(0, len(partition.nodes) - listed),
    }


def _node(seen: NodeInventory) -> dict[str, Any]:
    is_open = seen.state.is_open
    return {
        "name": seen.node.name,
        "state": seen.state.name,
        "words": seen.state.words.as_dict(),
        "cpus_total": seen.node.cpus_total,
        "cpus_free": seen.now.cpus if is_open else 0,
        "memory_mib_total": seen.node.memory_total,
        "memory_mib_free": seen.now.memory if is_open else 0,
        "gpus": [_gpu(gpu) for gpu in seen.gpus],
    }


def _gpu(gpu: GpuCount) -> dict[str, Any]:
    return {"type": gpu.type, "kind": gpu.kind, "total": gpu.total, "free": gpu.free, "down": gpu.down}


def _accounts(rights: Rights) -> list[dict[str, Any]]:
    default = rights.accounting.default_accounts.get(rights.person.name)
    found = []
    for name in rights.accounts:
        mine = [one for one in rights.associations if one.account == name]
        found.append(
            {
                "name": name,
                "default": name == default,
                "qos": sorted({qos for one in mine for qos in one.qos}),
                "default_qos": rights.qos_of(Target(partition="", account=name)),
            }
        )
    return found


def _qos(rights: Rights) -> list[dict[str, Any]]:
    names = sorted({qos for one in rights.associations for qos in one.qos} & set(rights.accounting.qos))
    every = [rights.accounting.qos[name] for name in names]
    return [
        {
            "name": qos.name,
            "max_time_seconds": qos.max_wall,
            "max_gpus_per_user": qos.max_tres_per_user.get("gres/gpu"),
            "max_jobs_per_user": qos.max_jobs_per_user,
        }
        for qos in every
    ]


def _reservations(rights: Rights) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            "start": one.start.isoformat() if one.start else None,
            "end": one.end.isoformat() if one.end else None,
            "active": one.active,
            "magnetic": "MAGNETIC" in one.flags,
            "partition": one.partition or None,
        }
        for one in rights.reservations
    ]
