"""POST /hub/api/siflab/estimate: when a choice would start, and what sooner (JSON: docs/spawn-page.md)."""

import asyncio
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from siflab.config import Choice, Resources, resolve, usable_profiles
from siflab.errors import FieldError, Invalid, SiflabError
from siflab.slurm.execute import PosixUser
from siflab.text import Text
from siflab_spawner.accounts.as_user import find_user
from siflab_spawner.accounts.groups import group_names
from siflab_spawner.page.limit_check import within_limits
from siflab_spawner.page.nearby import Nearby, has_room, nearby
from siflab_spawner.page.options import check_options
from siflab_spawner.page.slurm_facts import facts_of
from siflab_spawner.page.start_estimates import OverBudget, StartEstimates, estimates_of

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_AT_ONCE = timedelta(seconds=60)
_AGAIN = 15.0  # seconds after which a Slurm that did not answer may be asked again
_ROOM = Text("There is room for it now.", "现在有空位。")
_NO_ROOM = Text(
    "There is no room for it at present; when it would start is not known.", "目前没有空位；预计开始时间未知。"
)


@dataclass(frozen=True)
class Reading:
    """One answer: from Slurm (`start`, `error`) or, where it was not asked, from the inventory."""

    start: datetime | None = None
    error: FieldError | None = None
    room: bool | None = None
    cached: bool = False
    retry_after: float | None = None
    trouble: Text | None = None

    def now(self, moment: datetime) -> bool:
        if self.start is not None:
            return self.start <= moment + _AT_ONCE
        return bool(self.room) and self.error is None

    def words(self, moment: datetime) -> Text:
        if self.error is not None:
            return self.error.message
        if self.start is not None:
            return when(self.start, moment)
        words = _ROOM if self.room else _NO_ROOM
        return self.trouble + words if self.trouble else words


async def estimate_for(spawner: "SingularitySlurmSpawner", options: Any) -> dict[str, Any]:
    """Raises Invalid only for what is no choice at all (`check_options`)."""
    choice = check_options(options if options is not None else {})
    groups = await group_names(spawner)
    try:
        profiles = usable_profiles(spawner.site, "session", groups)
        chosen = choice if choice != Choice() else Choice(profile=next(iter(profiles), None))
        resources = resolve(spawner.site, chosen, "session", groups)
        resources = await within_limits(spawner, resources, options)
    except Invalid as error:
        return _refused(error.errors)
    user, reader = await _reader(spawner)
    rights = await facts_of(spawner).rights(spawner.user.name)
    reading = await _read(reader, user, resources, has_room(rights, resources))
    moment = datetime.now().astimezone()
    if reading.error is not None:
        return _refused([reading.error], cached=reading.cached)
    answer = _answer(reading, moment)
    if not reading.now(moment):
        given = {name: value for name, value in (options or {}).items() if value not in (None, "")}
        found = nearby(spawner.site, {**given, "profile": resources.profile}, resources, groups, rights)
        answer["alternatives"] = await _sooner(reader, user, found, reading, moment)
    return answer


async def _reader(spawner: "SingularitySlurmSpawner") -> tuple[PosixUser | None, StartEstimates]:
    """As whom it is asked; None where the Hub cannot act as this person (the inventory answers then)."""
    slurm = replace(spawner.slurm, cluster=spawner.site.slurm.cluster)
    try:
        return await find_user(spawner.user.name), estimates_of(spawner, slurm)
    except SiflabError as error:
        spawner.log.warning("siflab: no estimate as %s: %s", spawner.user.name, error)
        return None, estimates_of(spawner, slurm)


async def _read(reader: StartEstimates, user: PosixUser | None, resources: Resources, room: bool) -> Reading:
    if user is None:
        return Reading(room=room)
    try:
        said, cached = await reader.ask(user, resources)
    except OverBudget as over:
        return Reading(room=room, retry_after=over.retry_after)
    except SiflabError as error:
        return Reading(room=room, retry_after=_AGAIN, trouble=error.message)
    return Reading(said.start, said.error, cached=cached)


async def _sooner(
    reader: StartEstimates, user: PosixUser | None, found: list[Nearby], own: Reading, moment: datetime
) -> list[dict[str, Any]]:
    """Those of `found` that start before the choice itself would."""
    readings = await asyncio.gather(*(_read(reader, user, one.resources, one.room_now) for one in found))
    better = []
    for one, reading in zip(found, readings, strict=True):
        if reading.error is not None or (reading.start is None and not reading.room):
            continue
        now = reading.now(moment)
        if not now and (own.start is None or reading.start is None or reading.start >= own.start - _AT_ONCE):
            continue
        words = reading.words(moment)
        both = Text(f"{one.what.en}: {_small(words.en)}", f"{one.what.zh}：{words.zh}")
        start = reading.start.isoformat() if reading.start else None
        entry = {"options": one.changes, "start_at": start, "now": now, "words": both.as_dict()}
        better.append((not now, reading.start or moment, entry))
    return [entry for _, _, entry in sorted(better, key=lambda item: item[:2])]


def when(start: datetime, moment: datetime) -> Text:
    """``It would start at once.`` or about when."""
    if start <= moment + _AT_ONCE:
        return Text("It would start at once.", "可以立即开始。")
    same_day = start.date() == moment.date()
    at = f"{start:%H:%M}" if same_day else f"{start:%Y-%m-%d %H:%M}"
    left = _long(start - moment)
    return Text(f"It would start at about {at} (in {left.en}).", f"预计 {at} 左右开始（{left.zh}后）。")


def _long(duration: timedelta) -> Text:
    minutes = max(1, round(duration.total_seconds() / 60))
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return Text(f"{days} d {hours} h", f"{days} 天 {hours} 小时")
    return (
        Text(f"{hours} h {minutes} min", f"{hours} 小时 {minutes} 分钟")
        if hours
        else Text(f"{minutes} min", f"{minutes} 分钟")
    )


def _small(sentence: str) -> str:
    """Within another sentence."""
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def _answer(reading: Reading, moment: datetime) -> dict[str, Any]:
    return {
        "start_at": reading.start.isoformat() if reading.start else None,
        "now": reading.now(moment),
        "words": reading.words(moment).as_dict(),
        "errors": [],
        "alternatives": [],
        "cached": reading.cached,
        "retry_after": None if reading.retry_after is None else round(reading.retry_after, 1),
    }


def _refused(errors: list[FieldError], cached: bool = False) -> dict[str, Any]:
    words = Invalid(errors).message
    return {
        "start_at": None,
        "now": False,
        "words": words.as_dict(),
        "errors": [error.as_dict() for error in errors],
        "alternatives": [],
        "cached": cached,
        "retry_after": None,
    }
