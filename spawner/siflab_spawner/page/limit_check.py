"""What the known limits of Slurm prove impossible, said before a job is submitted: at the field, with the limit."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from siflab.config import Resources
from siflab.errors import FieldError, Invalid
from siflab.slurm.rights import Rights, Target
from siflab.slurm.rights_words import Ceiling, amount
from siflab.text import Text
from siflab_spawner.page.free_nodes import has_type
from siflab_spawner.page.slurm_facts import facts_of

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_COLD = 3.0  # seconds that the first start after the Hub's own is willing to wait for what Slurm says
_FRESH = 15.0  # what is refused is refused for what was so within these seconds
_SHORTEST = 60  # seconds; Slurm counts in minutes


async def within_limits(spawner: "SingularitySlurmSpawner", resources: Resources, options: Any) -> Resources:
    """The resources that may be asked for. A time that was not chosen ends with the reservation. Raises Invalid for
    what is proven impossible; what is not known is left to sbatch."""
    facts = facts_of(spawner)
    chosen = isinstance(options, dict) and options.get("time") not in (None, "")
    rights = await facts.rights_soon(spawner.user.name, float("inf"), _COLD)
    found = clip_time(rights, resources, chosen)
    if proven(rights, found):  # perhaps only yesterday's limits
        rights = await facts.rights_soon(spawner.user.name, _FRESH, _COLD)
        found = clip_time(rights, resources, chosen)
        errors = proven(rights, found)
        if errors:
            raise Invalid(errors)
    return found


def target_of(resources: Resources) -> Target:
    return Target(
        partition=resources.partition,
        gpu_type=resources.gpu_type,
        gpus=resources.gpus,
        account=resources.account,
        qos=resources.qos,
        reservation=resources.reservation,
    )


def amounts(resources: Resources) -> dict[str, int]:
    """By the names of ceilings."""
    return {
        "gpus": resources.gpus,
        "cpus": resources.cpus,
        "memory": resources.memory_mib,
        "time": resources.time_seconds,
    }


def clip_time(rights: Rights, resources: Resources, chosen: bool) -> Resources:
    """A time of the profile, not of the person, that goes beyond the end of the reservation becomes what is left."""
    if chosen or resources.reservation is None or rights.reservation(resources.reservation) is None:
        return resources
    ceiling = rights.ceilings(target_of(resources)).get("time")
    if ceiling is None or not _SHORTEST <= ceiling.value < resources.time_seconds:
        return resources
    return replace(resources, time_seconds=ceiling.value)


def proven(rights: Rights, resources: Resources) -> list[FieldError]:
    """All that is known to be impossible about it."""
    target = target_of(resources)
    errors = rights.obstacles(target)
    ceilings = rights.ceilings(target)
    for field, value in amounts(resources).items():
        ceiling = ceilings.get(field)
        if field == "gpus" and value and ceiling is not None and not has_type(rights, target):
            errors.append(FieldError("gpu_type" if target.gpu_type else "partition", "no-such-gpu", ceiling.why))
        elif ceiling is not None and value > ceiling.value:
            errors.append(_too_much(field, value, ceiling))
    return errors or _no_such_node(rights, resources)


def _too_much(field: str, value: int, ceiling: Ceiling) -> FieldError:
    asked, most = amount(field, value), amount(field, ceiling.value)
    hint = Text(f"; ask for {most.en} or less", f"；请申请不超过 {most.zh}") if ceiling.value else Text.plain("")
    en = f"{asked.en} cannot be had: {ceiling.why.en}{hint.en}"
    return FieldError(field, f"{field}-beyond-limit", Text(en, f"无法获得 {asked.zh}：{ceiling.why.zh}{hint.zh}"))


def _no_such_node(rights: Rights, resources: Resources) -> list[FieldError]:
    """Each by itself is there, but not on one node."""
    partition = rights.inventory.by_name.get(resources.partition) if rights.inventory else None
    wanted = (resources.gpus, resources.gpu_type, resources.cpus, resources.memory_mib)
    if partition is None or not partition.ever or any(shape.holds(*wanted) for shape in partition.ever):
        return []
    parts = [amount("cpus", resources.cpus), amount("memory", resources.memory_mib)]
    if resources.gpus:
        parts.insert(0, amount("gpus", resources.gpus, gpu_type=resources.gpu_type))
    en, zh = ", ".join(part.en for part in parts), "、".join(part.zh for part in parts)
    words = Text(
        f"no node of partition {resources.partition} has all of this together: {en}; ask for less of one",
        f"分区 {resources.partition} 没有节点同时具备：{zh}；请减少其中一项",
    )
    return [FieldError("gpus" if resources.gpus else "cpus", "no-such-node", words)]
