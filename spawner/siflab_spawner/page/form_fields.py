"""The fields of one profile on the spawn page: from site.yaml, and narrowed by what Slurm offers this person now."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from siflab.config import Profile, Site
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time

_LONGEST_LIST = 16  # numbers up to which a range is shown as a list
_NAMES = ("partition", "gpu_type", "account", "qos", "reservation")


@dataclass(frozen=True)
class Option:
    """One choice of a list. One that cannot be made is shown with the reason, and disabled."""

    value: str
    words: str
    possible: bool = True


@dataclass(frozen=True)
class Field:
    """One field that a profile lets a person change. Without `options` it is typed in. A `hidden` one has nothing to
    choose from yet and is not sent."""

    key: str
    label: str
    value: str
    hint: str = ""
    options: tuple[Option, ...] = ()
    number: bool = False
    error: str = ""
    hidden: bool = False


class Fields:
    """The fields of one profile. `last` are values to show (untrusted: as they were sent), `wrong` the messages at
    fields, `offer` the profile's part of the offer, or empty."""

    def __init__(
        self,
        site: Site,
        profile: Profile,
        words: Mapping[str, str],
        language: str,
        last: Mapping[str, Any],
        wrong: Mapping[str, str],
        offer: Mapping[str, Any],
    ) -> None:
        self.site, self.profile, self.words, self.language = site, profile, words, language
        self.last, self.wrong, self.offer = last, wrong, offer.get("fields") or {}

    def all(self) -> Iterable[Field]:
        yield from self._image()
        for key in ("partition", "gpu_type"):
            yield from self._name(key)
        yield from self._count("gpus", self.profile.gpus)
        yield from self._count("cpus", self.profile.cpus)
        yield from self._amount("memory", "max_mib", self.profile.memory, format_memory)
        yield from self._amount("time", "max_seconds", self.profile.time, format_time)
        for key in ("account", "qos", "reservation"):
            yield from self._name(key)

    def _value(self, key: str, preset: object) -> str:
        value = self.last.get(key)
        return str(value)[:64] if value not in (None, "") else str(preset)

    def _common(self, key: str) -> dict[str, Any]:
        return {"key": key, "label": self.words[key], "error": self.wrong.get(key, "")}

    def _why(self, key: str) -> str:
        why = (self.offer.get(key) or {}).get("why")
        return str(why[self.language]) if why else ""

    def _image(self) -> Iterable[Field]:
        if not self.profile.allow.image:
            return
        ids = dict.fromkeys((self.profile.image, *self.profile.allow.image))
        plain = [Option(image, self.site.images[image].title.to(self.language)) for image in ids]
        yield self._list("image", self.profile.image, self._offered("image", plain))

    def _name(self, key: str) -> Iterable[Field]:
        """A list of names of Slurm. ``any`` are those that the offer has; without an offer nothing can be listed."""
        allowed, preset = getattr(self.profile.allow, key), getattr(self.profile, key) or ""
        if not allowed:
            return
        names = (preset, *(() if allowed == "any" else allowed))
        plain = [Option(name, name or self.words["usual"]) for name in dict.fromkeys(names)]
        options = self._offered(key, plain)
        if len(options) > 1 or allowed == "any":
            yield self._list(key, preset, options)

    def _list(self, key: str, preset: str, options: tuple[Option, ...], hint: str = "") -> Field:
        """With what was chosen, else the preset, else what is nearest to it; said where that is not what was chosen."""
        wanted = self._value(key, preset)
        open_ = [option.value for option in options if option.possible]
        nearest = (open_[-1] if key == "gpus" else open_[0]) if open_ else preset
        shown = next((value for value in (wanted, preset) if value in open_), nearest)
        field = Field(**self._common(key), value=shown, options=options, hint=hint, hidden=len(options) < 2)
        if shown == wanted or field.error or field.hidden:
            return field
        return replace(field, error=self.words["not_offered"].format(value=wanted))

    def _offered(self, key: str, plain: list[Option]) -> tuple[Option, ...]:
        """The offer's choices, each with what is free or why it cannot be; `plain` where there is no offer."""
        choices = (self.offer.get(key) or {}).get("choices")
        if not choices:
            return tuple(plain)
        known = {option.value: option.words for option in plain}
        options = [Option(value, words) for value, words in known.items() if value == ""]
        for choice in choices:
            words = str(choice["words"][self.language])
            if not choice["possible"] and choice["why"]:
                words += " — " + self.words["not_possible"].format(why=choice["why"][self.language])
            elif choice["total"] is not None:
                words += " — " + self.words["free_of"].format(free=choice["free"], total=choice["total"])
            options.append(Option(str(choice["value"]), words, bool(choice["possible"])))
        return tuple(option for index, option in enumerate(options) if option.value not in
                     {earlier.value for earlier in options[:index]})  # fmt: skip

    def _count(self, key: str, preset: int) -> Iterable[Field]:
        allowed, offered = getattr(self.profile.allow, key), self.offer.get(key) or {}
        if allowed is None:
            return
        least = max(allowed.min, 1 if key == "cpus" else 0)
        numbers = sorted({preset, *(allowed.choices or range(least, (allowed.max or 0) + 1))})
        most = offered.get("max")
        possible = set(offered.get("choices") or (n for n in numbers if most is None or n <= most))
        value, why = self._value(key, preset), self._why(key)
        if allowed.choices or len(numbers) <= _LONGEST_LIST:
            options = tuple(Option(str(n), str(n), n in possible) for n in numbers)
            best = max(possible & set(numbers), default=None)
            hint = self.words["up_to"].format(most=best) if best is not None and best < numbers[-1] else ""
            yield self._list(key, str(preset), options, self._with(hint, why))
        else:
            last = min(numbers[-1], most) if most else numbers[-1]
            hint = self.words["from_to"].format(least=numbers[0], most=last)
            yield Field(**self._common(key), value=value, number=True, hint=self._with(hint, why))

    def _amount(self, key: str, limit: str, preset: int, show: Any) -> Iterable[Field]:
        allowed, offered = getattr(self.profile.allow, key), self.offer.get(key) or {}
        if allowed is None:
            return
        most = max(allowed.max, preset)
        if offered.get(limit):
            most = min(most, offered[limit])
        hint = self.words["up_to"].format(most=show(most))
        yield Field(**self._common(key), value=self._value(key, show(preset)), hint=self._with(hint, self._why(key)))

    def _with(self, hint: str, why: str) -> str:
        return self.words["with_why"].format(hint=hint, why=why) if hint and why else hint or why
