"""The offer of one profile: whether it is possible, what is free of it, and how far each field goes for this person."""

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from siflab.config import Choice, CountRange, Profile, Resources, Site, resolve
from siflab.errors import Invalid
from siflab.slurm.rights import Rights, Target
from siflab.slurm.rights_words import Ceiling
from siflab.text import Text
from siflab_spawner.page.free_nodes import fits_ever, fits_now, gpu_numbers
from siflab_spawner.page.limit_check import amounts, clip_time, target_of
from siflab_spawner.page.offer_choices import SELECTS, choice_words, names_of

_KEYS = {field.name for field in fields(Choice)}


class ProfileOffer:
    """`selection` is what the page shows as chosen of it; what of it cannot be is looked at as if it were not there.
    Raises Invalid for a profile that no session can have as it is."""

    def __init__(
        self, site: Site, key: str, profile: Profile, rights: Rights, selection: Mapping[str, Any] | None = None
    ) -> None:
        self.site, self.key, self.profile, self.rights = site, key, profile, rights
        self.resources = _resolve_what_can_be(site, key, dict(selection or {}))
        self.target = target_of(self.resources)
        self.own = own_limits(profile)
        self.least = own_least(profile)

    def as_dict(self) -> dict[str, Any]:
        obstacles = self.rights.obstacles(self.target)
        ceilings = self.rights.ceilings(self.target)
        why = obstacles[0].message if obstacles else self._why_not(self.target, ceilings)
        possible = why is None or self._possible_otherwise()
        gpus = gpu_numbers(self.rights, self.target) if self.own["gpus"] else None
        return {
            "possible": possible,
            "why": None if possible or why is None else why.as_dict(),
            "free_now": possible and why is None and self._fits_now(ceilings),
            "gpus_free": gpus[0] if gpus else None,
            "gpus_total": gpus[1] if gpus else None,
            "fields": {**self._numbers(ceilings), **dict(self._selects())},
        }

    # ---- numbers

    def _numbers(self, ceilings: Mapping[str, Ceiling]) -> dict[str, Any]:
        most = {name: limited(self.own[name], ceilings.get(name)) for name in self.own}
        counts = {
            "gpus": (self.profile.gpus, self.profile.allow.gpus),
            "cpus": (self.profile.cpus, self.profile.allow.cpus),
        }
        found: dict[str, Any] = {}
        for name, (preset, allowed) in counts.items():
            value, why = most[name]
            choices = sorted({preset, *allowed.choices}) if allowed and allowed.choices else []
            found[name] = {
                "min": self.least[name],
                "max": value,
                "choices": [number for number in choices if number <= value],
                "preset": preset,
                "why": why,
            }
        memory, time = most["memory"], most["time"]
        found["memory"] = {"max_mib": memory[0], "preset_mib": self.profile.memory, "why": memory[1]}
        found["time"] = {"max_seconds": time[0], "preset_seconds": self.profile.time, "why": time[1]}
        return found

    def _why_not(self, target: Target, ceilings: Mapping[str, Ceiling]) -> Text | None:
        """Why not even the least of the profile can be had with this target."""
        for name, least in self.least.items():
            ceiling = ceilings.get(name)
            if ceiling is not None and least > ceiling.value:
                return ceiling.why
        if not fits_ever(self.rights, target, self.least["gpus"], self.least["cpus"], self.least["memory"]):
            name = target.partition
            return Text(f"no node of partition {name} has all of it together", f"分区 {name} 没有节点同时具备这些资源")
        return None

    def _fits_now(self, ceilings: Mapping[str, Ceiling]) -> bool:
        wanted = amounts(clip_time(self.rights, self.resources, chosen=False))
        if any(name in ceilings and value > ceilings[name].value for name, value in wanted.items()):
            return False
        return fits_now(self.rights, self.target, wanted["gpus"], wanted["cpus"], wanted["memory"])

    # ---- lists

    def _selects(self) -> Iterator[tuple[str, Any]]:
        if self.profile.allow.image:
            yield "image", {"preset": self.profile.image, "choices": self._images()}
        base = {error.code for error in self.rights.obstacles(self.target)}
        for name in SELECTS:
            if not getattr(self.profile.allow, name):
                continue
            values = names_of(name, self.profile, self.rights, self.target)
            choices = [self._choice(name, value, base) for value in values]
            yield name, {"preset": getattr(self.profile, name) or "", "choices": choices}

    def _images(self) -> list[dict[str, Any]]:
        ids = dict.fromkeys((self.profile.image, *self.profile.allow.image))
        return [
            {
                "value": image,
                "words": self.site.images[image].title.as_dict(),
                "possible": True,
                "why": None,
                "free": None,
                "total": None,
                "limits": None,
            }
            for image in ids
        ]

    def _choice(self, name: str, value: str, base: set[str]) -> dict[str, Any]:
        target, why = self._best(name, value, base)
        ceilings = self.rights.ceilings(target)
        most = {field: limited(self.own[field], ceilings.get(field))[0] for field in self.own}
        numbers = gpu_numbers(self.rights, target) if name in ("partition", "gpu_type") and self.own["gpus"] else None
        return {
            "value": value,
            "words": choice_words(name, value, self.rights, target).as_dict(),
            "possible": why is None,
            "why": why.as_dict() if why else None,
            "free": numbers[0] if numbers else None,
            "total": numbers[1] if numbers else None,
            "limits": {
                "gpus": most["gpus"],
                "cpus": most["cpus"],
                "memory_mib": most["memory"],
                "time_seconds": most["time"],
            },
        }

    def _best(self, name: str, value: str, base: set[str]) -> tuple[Target, Text | None]:
        """The target with this value, and why it cannot be. Partition and GPU type go together: where the person may
        choose both, a partition is possible if it is with one of the types."""
        first: tuple[Target, Text | None] | None = None
        for target in self._completions(replace(self.target, **{name: value or None}), name):
            new = [error for error in self.rights.obstacles(target) if error.field == name or error.code not in base]
            why = new[0].message if new else self._why_not(target, self.rights.ceilings(target))
            if why is None:
                return target, None
            first = first or (target, why)
        assert first is not None
        return first

    def _completions(self, target: Target, name: str) -> Iterator[Target]:
        yield target
        if name == "partition" and self.own["gpus"]:
            for gpu_type in self.profile.allow.gpu_type:
                yield replace(target, gpu_type=gpu_type)
        if name == "gpu_type":
            for partition in self.profile.allow.partition:
                yield replace(target, partition=partition)

    def _possible_otherwise(self) -> bool:
        """Something of what the person may select makes it possible."""
        for name in SELECTS:
            if not getattr(self.profile.allow, name):
                continue
            for value in names_of(name, self.profile, self.rights, self.target):
                for target in self._completions(replace(self.target, **{name: value or None}), name):
                    if not self.rights.obstacles(target) and not self._why_not(target, self.rights.ceilings(target)):
                        return True
        return False


def impossible(error: Invalid) -> dict[str, Any]:
    """The offer of a profile that cannot be resolved at all."""
    numbers = {"gpus_free": None, "gpus_total": None}
    return {"possible": False, "why": error.message.as_dict(), "free_now": False, **numbers, "fields": {}}


def limited(own: int, ceiling: Ceiling | None) -> tuple[int, dict[str, str] | None]:
    """The lesser, and which limit it is where it is not the profile's own."""
    if ceiling is None or ceiling.value >= own:
        return own, None
    return ceiling.value, ceiling.why.as_dict()


def own_limits(profile: Profile) -> dict[str, int]:
    """The most that the profile itself lets a person choose, by the names of ceilings."""
    allow = profile.allow
    return {
        "gpus": _most(profile.gpus, allow.gpus),
        "cpus": _most(profile.cpus, allow.cpus),
        "memory": max(profile.memory, allow.memory.max) if allow.memory else profile.memory,
        "time": max(profile.time, allow.time.max) if allow.time else profile.time,
    }


def own_least(profile: Profile) -> dict[str, int]:
    """The least that a person can ask for with it."""
    allow = profile.allow
    return {
        "gpus": _least(profile.gpus, allow.gpus, 0),
        "cpus": _least(profile.cpus, allow.cpus, 1),
        "memory": 1 if allow.memory else profile.memory,
        "time": 60 if allow.time or profile.reservation or profile.allow.reservation else profile.time,
    }


def _most(preset: int, allowed: CountRange | None) -> int:
    return max(preset, *allowed.choices, allowed.max or 0) if allowed else preset


def _least(preset: int, allowed: CountRange | None, at_least: int) -> int:
    if allowed is None:
        return preset
    return max(at_least, min(preset, *allowed.choices) if allowed.choices else min(preset, allowed.min))


def _resolve_what_can_be(site: Site, key: str, selection: dict[str, Any]) -> Resources:
    known = {name: value for name, value in selection.items() if name in _KEYS}
    while True:
        try:
            return resolve(site, Choice(**{**known, "profile": key}), "session")
        except Invalid as error:
            wrong = {one.field for one in error.errors} & set(known)
            if not wrong:
                raise
            known = {name: value for name, value in known.items() if name not in wrong}
