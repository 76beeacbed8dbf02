"""The messages of the event stream: what a page asks for, and what it is told (`Event` of openapi.yaml)."""

import json
from dataclasses import dataclass
from typing import Any

from siflab.errors import FieldError, Invalid
from siflab.text import Text
from siflab_extension.pattern import RUN_ID

Event = dict[str, Any]

#: More logs than this on one page at once are refused; it bounds what a page can make the server read.
MOST_LOGS = 8
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
class Follow:
    """All that a page wants to be told."""

    runs: bool = False
    logs: tuple[FollowLog, ...] = ()


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
        if key not in ("runs", "logs"):
            raise _wrong(f"follow.{key}", Text("there is no such field", "没有这个字段"))
    runs = follow.get("runs", False)
    if not isinstance(runs, bool):
        raise _wrong("follow.runs", Text("this must be true or false", "此项必须是 true 或 false"))
    logs = follow.get("logs", [])
    if not isinstance(logs, list) or len(logs) > MOST_LOGS:
        at_most = Text(f"this must be a list of at most {MOST_LOGS} logs", f"此项必须是列表，最多 {MOST_LOGS} 个日志")
        raise _wrong("follow.logs", at_most)
    return Follow(runs, tuple({log.id: log for log in (_parse_log(n, log) for n, log in enumerate(logs))}.values()))


def _parse_log(number: int, value: object) -> FollowLog:
    field = f"follow.logs.{number}"
    if not isinstance(value, dict) or not value.keys() <= {"id", "offset", "attempt"}:
        raise _wrong(
            field, Text("this must have id, and may have offset and attempt", "此项须有 id，可有 offset 和 attempt")
        )
    run_id, offset, attempt = value.get("id"), value.get("offset", 0), value.get("attempt")
    if not isinstance(run_id, str) or not RUN_ID.fullmatch(run_id):
        raise _wrong(f"{field}.id", Text("this must be the id of a run", "此项必须是运行的 id"))
    if type(offset) is not int:
        raise _wrong(f"{field}.offset", Text("this must be a whole number of bytes", "此项必须是整数字节"))
    if attempt is not None and (type(attempt) is not int or attempt < 1):
        raise _wrong(f"{field}.attempt", Text("this must be a number from 1 on", "此项必须是不小于 1 的整数"))
    return FollowLog(run_id, offset, attempt)


def run_event(run: Event) -> Event:
    return {"type": "run", "id": run["id"], "run": run}


def removed_event(run_id: str) -> Event:
    return {"type": "removed", "id": run_id}


def slurm_event(health: Event) -> Event:
    return {"type": "slurm", "slurm": health}


def log_event(run_id: str, piece: Event) -> Event:
    return {"type": "log", "id": run_id, "log": piece}


def error_event(message: Text, run_id: str | None = None) -> Event:
    """Something went wrong; with `id`, in following the log of that run."""
    event: Event = {"type": "error", "message": message.as_dict()}
    return event if run_id is None else {**event, "id": run_id}


def _wrong(field: str, message: Text) -> Invalid:
    return Invalid([FieldError(field, "bad-message", message)])
