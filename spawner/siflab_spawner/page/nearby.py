"""Choices near to one that has to wait: fewer GPUs, another type, partition or profile, less time."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from siflab.config import Profile, Resources, Site, resolve, usable_profiles
from siflab.errors import Invalid
from siflab.slurm.rights import Rights
from siflab.slurm.rights_words import amount
from siflab.slurm.time import format_time
from siflab.text import Text
from siflab_spawner.page.free_nodes import fits_now
from siflab_spawner.page.limit_check import clip_time, proven, target_of
from siflab_spawner.page.options import check_options

MOST = 3
_SHORTEST = 1800  # seconds; less time than this is of no use


@dataclass(frozen=True)
class Nearby:
    """`changes` is what differs (with ``profile`` all else is the new profile's own), `what` names it."""

    changes: dict[str, Any]
    what: Text
    resources: Resources
    room_now: bool


def nearby(
    site: Site, options: dict[str, Any], resources: Resources, groups: list[str], rights: Rights
) -> list[Nearby]:
    """At most three, those for which there is room now first, else in the order of likeness. Only what is allowed."""
    found: dict[tuple[str, ...], Nearby] = {}
    own = tuple(resources.sbatch_options())
    for changes, what in _changes(site, options, resources, groups):
        changed = dict(changes) if "profile" in changes else {**options, **changes}
        try:
            other = resolve(site, check_options(changed), "session", groups)
        except Invalid:
            continue
        other = clip_time(rights, other, chosen=changed.get("time") not in (None, ""))
        key = tuple(other.sbatch_options())
        if key == own or key in found or proven(rights, other):
            continue
        found[key] = Nearby(changes, what, other, has_room(rights, other))
    return sorted(found.values(), key=lambda one: not one.room_now)[:MOST]


def has_room(rights: Rights, resources: Resources) -> bool:
    return fits_now(rights, target_of(resources), resources.gpus, resources.cpus, resources.memory_mib)


def _changes(
    site: Site, options: dict[str, Any], resources: Resources, groups: list[str]
) -> Iterator[tuple[dict[str, Any], Text]]:
    profiles = usable_profiles(site, "session", groups)
    profile = profiles[resources.profile]
    yield from _fewer_gpus(profile, resources)
    for gpu_type in dict.fromkeys((*((profile.gpu_type,) if profile.gpu_type else ()), *profile.allow.gpu_type)):
        if gpu_type != resources.gpu_type and profile.allow.gpu_type and resources.gpus:
            yield {"gpu_type": gpu_type}, amount("gpus", resources.gpus, gpu_type=gpu_type)
            for partition in profile.allow.partition:
                what = amount("gpus", resources.gpus, gpu_type=gpu_type) + _in(partition)
                yield {"gpu_type": gpu_type, "partition": partition}, what
    for partition in dict.fromkeys((profile.partition, *profile.allow.partition)):
        if partition != resources.partition and profile.allow.partition:
            yield {"partition": partition}, _partition(partition)
    for key, other in profiles.items():
        if key != resources.profile and bool(other.gpus) == bool(resources.gpus):
            yield {"profile": key}, other.title
    half = resources.time_seconds // 2 // 60 * 60
    if profile.allow.time and half >= _SHORTEST:
        yield {"time": format_time(half)}, Text(f"{format_time(half)} only", f"仅 {format_time(half)}")


def _fewer_gpus(profile: Profile, resources: Resources) -> Iterator[tuple[dict[str, Any], Text]]:
    allowed = profile.allow.gpus
    if allowed is None or resources.gpus < 2:
        return
    numbers = (*allowed.choices, profile.gpus) if allowed.choices else range(max(allowed.min, 1), resources.gpus)
    for number in sorted({one for one in numbers if 0 < one < resources.gpus}, reverse=True):
        yield {"gpus": number}, amount("gpus", number, gpu_type=resources.gpu_type)


def _partition(name: str) -> Text:
    return Text(f"partition {name}", f"分区 {name}")


def _in(partition: str) -> Text:
    return Text(f"in partition {partition}", f"（分区 {partition}）")
