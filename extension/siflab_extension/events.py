"""The messages of the event stream: what a page asks for, and what it is told (`Event` of openapi.yaml)."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from siflab.errors import FieldError, Invalid
from siflab.text import Text
from siflab_extension.pattern import RUN_ID

Event = dict[str, Any]
Of = Literal["log", "metrics"]

#: More logs than this on one page at once are refused; it bounds what a page can make the server read.
MOST_LOGS = 8
#: The same for what runs use, which is read as a whole each time.
MOST_METRICS = 4
LONGEST_POSITION = 64
#: Bytes of a message from a page; a legitimate one is far smaller.
LONGEST_MESSAGE = 64 * 1024

PING: Event = {"type": "ping"}


@dataclass(frozen=True)
class FollowLog:
    """One log to follow: from the byte `offset` on (negative: before the end), of `attempt` or else of the latest."""

    id: str
    offset: int = 0
    attempt: int | None = None


@dataclass(frozen=True)
class FollowMetrics:
    """What one run uses, or one point of a sweep: what came since `position`, of `attempt` or else of the latest."""

    id: str
    position: str | None = None
    attempt: int | None = None
    point: int | None = None

    @property
    def key(self) -> tuple[str, int | None]:
        return self.id, self.point


@dataclass(frozen=True)
class Follow:
    """All that a page wants to be told."""

    runs: bool = False
    logs: tuple[FollowLog, ...] = ()
    metrics: tuple[FollowMetrics, ...] = ()


def parse_follow(message: str | bytes) -> Follow:
    """What a page asks for in `{"follow": {"runs": true, "logs": [{"id": ..., "offset": 0}]}}`; raises `Invalid`."""
    if len(message) > LONGEST_MESSAGE:
        raise _wrong("", Text("the message is too long", "消息过长"))
    try:
        value = json.loads(message)
    except (ValueError, RecursionError):
        raise _wrong("", Text("the message is not valid JSON", "消息不是有效的 JSON")) from None
    follow = value.get("follow") if isinstance(value, dict) else None
    if not isinstance(follow, dict) or len(value) != 1:
        raise _wrong("follow", Text('send {"follow": {...}}', '请发送 {"follow": {...}}'))
    for key in follow:
        if key not in ("runs", "logs", "metrics"):
            raise _wrong(f"follow.{key}", Text("there is no such field", "没有这个字段"))
    runs = follow.get("runs", False)
    if not isinstance(runs, bool):
        raise _wrong("follow.runs", Text("this must be true or false", "此项必须是 true 或 false"))
    logs = [_parse_log(f"follow.logs.{n}", log) for n, log in enumerate(_list(follow, "logs", MOST_LOGS))]
    wanted = _list(follow, "metrics", MOST_METRICS)
    metrics = [_parse_metrics(f"follow.metrics.{n}", one) for n, one in enumerate(wanted)]
    return Follow(runs, tuple({log.id: log for log in logs}.values()), tuple({m.key: m for m in metrics}.values()))


def _list(follow: dict[str, Any], name: str, most: int) -> list[Any]:
    value = follow.get(name, [])
    if not isinstance(value, list) or len(value) > most:
        at_most = Text(f"this must be a list of at most {most} entries", f"此项必须是列表，最多 {most} 项")
        raise _wrong(f"follow.{name}", at_most)
    return value


def _parse_log(field: str, value: object) -> FollowLog:
    run_id, attempt, rest = _parse_run(field, value, {"offset"})
    offset = rest.get("offset", 0)
    if type(offset) is not int:
        raise _wrong(f"{field}.offset", Text("this must be a whole number of bytes", "此项必须是整数字节"))
    return FollowLog(run_id, offset, attempt)


def _parse_metrics(field: str, value: object) -> FollowMetrics:
    run_id, attempt, rest = _parse_run(field, value, {"position", "point"})
    position, point = rest.get("position"), rest.get("point")
    if position is not None and (not isinstance(position, str) or len(position) > LONGEST_POSITION):
        raise _wrong(f"{field}.position", Text("this must be a position that was given", "此项必须是此前给出的位置"))
    if point is not None and (type(point) is not int or point < 0):
        raise _wrong(f"{field}.point", Text("this must be a number from 0 on", "此项必须是不小于 0 的整数"))
    return FollowMetrics(run_id, position or None, attempt, point)


def _parse_run(field: str, value: object, more: set[str]) -> tuple[str, int | None, dict[str, Any]]:
    """What every wish has, and all of it."""
    if not isinstance(value, dict) or not value.keys() <= {"id", "attempt", *more}:
        may = ", ".join(sorted({"attempt", *more}))
        raise _wrong(field, Text(f"this must have id, and may have {may}", f"此项须有 id，可有 {may}"))
    run_id, attempt = value.get("id"), value.get("attempt")
    if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
        raise _wrong(f"{field}.id", Text("this must be the id of a run", "此项必须是运行的 id"))
    if attempt is not None and (type(attempt) is not int or attempt < 1):
        raise _wrong(f"{field}.attempt", Text("this must be a number from 1 on", "此项必须是不小于 1 的整数"))
    return run_id, attempt, value


def run_event(run: Event) -> Event:
    return {"type": "run", "id": run["id"], "run": run}


def removed_event(run_id: str) -> Event:
    return {"type": "removed", "id": run_id}


def slurm_event(health: Event) -> Event:
    return {"type": "slurm", "slurm": health}


def log_event(run_id: str, piece: Event) -> Event:
    return {"type": "log", "id": run_id, "log": piece}


def metrics_event(run_id: str, piece: Event) -> Event:
    return {"type": "metrics", "id": run_id, "metrics": piece}


def error_event(message: Text, run_id: str | None = None, of: Of | None = None) -> Event:
    """Something went wrong; with `id`, in following that run's log or metrics, as `of` says."""
    event: Event = {"type": "error", "message": message.as_dict()}
    return event if run_id is None else {**event, "id": run_id, "of": of}


def _wrong(field: str, message: Text) -> Invalid:
    return Invalid([FieldError(field, "bad-message", message)])
