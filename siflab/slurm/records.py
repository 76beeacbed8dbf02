"""What squeue and sacct say, as typed records.

The text formats are parsed with a separator of our own (the unit separator, 0x1f), since JSON shapes change between
versions and reasons hold commas. A job's name and comment are free text that its owner chooses, line ends included, so
they are asked for only where a single user's jobs are looked at: nobody can forge a row about another's job.
"""

import re
from collections.abc import Container
from dataclasses import dataclass
from datetime import datetime

from siflab.slurm.gres import Gres, parse_gres
from siflab.slurm.memory import parse_memory
from siflab.slurm.states import StateInfo, state_info
from siflab.slurm.time import parse_limit, parse_timestamp

SEPARATOR = "\x1f"
_COMMON_FIELDS = ["%A", "%F", "%K", "%u", "%T", "%r", "%B", "%S", "%e", "%V", "%L", "%P", "%l", "%b"]
QUEUE_FIELDS = [*_COMMON_FIELDS, "%U"]
OWN_QUEUE_FIELDS = [*_COMMON_FIELDS, "%j", "%k"]
ACCOUNTING_FIELDS = [
    "JobIDRaw", "User", "State", "ExitCode", "Reason", "NodeList", "Start", "End", "Submit", "Timelimit", "MaxRSS",
]  # fmt: skip
OUTCOME_FIELDS = [*ACCOUNTING_FIELDS, "ReqMem", "UID"]


@dataclass(frozen=True)
class QueueRecord:
    """One job (or array element) as squeue sees it. Times are aware, limits in seconds; `name` and `comment` are known
    only where one user's jobs were asked for, `uid` only where they were not."""

    job_id: str
    array_job_id: str
    array_task_id: str
    user: str
    state: StateInfo
    reason: str
    batch_host: str
    start: datetime | None
    end: datetime | None
    submitted: datetime | None
    time_left: int | None
    partition: str
    time_limit: int | None
    gres: tuple[Gres, ...]
    name: str = ""
    comment: str = ""
    uid: int | None = None


@dataclass(frozen=True)
class AccountingRecord:
    """One row of sacct: a job, or a step of it (`step` is then ``batch``, ``extern``, ``0`` ...). `exit_code`, `signal`
    are the two halves of ``ExitCode``; `max_rss_mib` (a sample every 30 s or so, not the peak) is known for steps only,
    `memory_mib` (what the job asked for, on one node) and `uid` for jobs of `sacct_outcome` only."""

    job_id: str
    step: str
    user: str
    state: StateInfo
    state_words: str
    exit_code: int
    signal: int
    reason: str
    nodes: str
    start: datetime | None
    end: datetime | None
    submitted: datetime | None
    time_limit: int | None
    max_rss_mib: int | None
    memory_mib: int | None = None
    uid: int | None = None


class Unreadable(ValueError):
    """The command exited 0 but did not print what was asked for: nothing may be concluded from it."""


def _whole(text: str) -> str:
    """`text`, unless its last line was cut off."""
    if text and not text.endswith("\n"):
        raise Unreadable(f"the last line was cut off: {text[-100:]!r}")
    return text


def _rows(text: str, width: int) -> list[list[str]]:
    rows = []
    for line in text.split("\n"):
        if not line.strip():
            continue
        row = line.split(SEPARATOR)
        if len(row) != width:
            raise Unreadable(f"expected {width} fields, got {len(row)}: {line[:200]!r}")
        rows.append(row)
    return rows


def parse_squeue(text: str, only: Container[str] | None = None) -> list[QueueRecord]:
    """The records of `squeue_jobs` for ids or everyone; with `only` those of these job ids. Every line is checked for
    its form, which is cheap; only what is wanted is read. Raises Unreadable."""
    width, wanted = len(QUEUE_FIELDS), []
    for line in _whole(text).split("\n"):
        if line.count(SEPARATOR) != width - 1:
            if not line.strip():
                continue
            raise Unreadable(f"expected {width} fields, got {line.count(SEPARATOR) + 1}: {line[:200]!r}")
        job_id = line[: line.index(SEPARATOR)]
        if only is None or job_id in only:
            if not (job_id.isascii() and job_id.isdigit()):
                raise Unreadable(f"not a job id: {line[:200]!r}")
            wanted.append(line)
    return [_queue_record(line.split(SEPARATOR)) for line in wanted]


def parse_own_squeue(text: str) -> list[QueueRecord]:
    """The records of `squeue_jobs` for one user, with names and comments. Lines that a free text broke are left out;
    raises Unreadable when there are lines but no record among them."""
    width = len(OWN_QUEUE_FIELDS)
    lines = [line for line in _whole(text).split("\n") if line.strip()]
    rows = [line.split(SEPARATOR) for line in lines]
    records = [_queue_record(row) for row in rows if len(row) >= width and row[0].isdigit()]
    if lines and not records:
        raise Unreadable(f"expected {width} fields: {lines[0][:200]!r}")
    return records


def _limit(text: str) -> int | None:
    """None also for one that is no time: an odd limit of one job must not blind those who look at others."""
    try:
        return parse_limit(text)
    except ValueError:
        return None


def _queue_record(row: list[str]) -> QueueRecord:
    common, rest = row[: len(_COMMON_FIELDS)], row[len(_COMMON_FIELDS) :]
    job, array, task, user, state, reason, host, start, end, submit, left, partition, limit, gres = common
    name, comment, uid = ("", "", rest[0]) if len(rest) == 1 else (rest[0], rest[1], "")
    is_element = task not in ("N/A", "")
    return QueueRecord(
        job_id=job,
        array_job_id=array if is_element else "",
        array_task_id=task if is_element else "",
        user=user,
        state=state_info(state),
        reason=reason,
        batch_host="" if host in ("n/a", "N/A", "(null)") else host,
        start=parse_timestamp(start),
        end=parse_timestamp(end),
        submitted=parse_timestamp(submit),
        time_left=_limit(left) if ":" in left or left.isdigit() else None,
        partition=partition,
        time_limit=_limit(limit),
        gres=tuple(parse_gres(gres)),
        name=name,
        comment="" if comment == "(null)" else comment,
        uid=_uid(uid),
    )


def parse_sacct(text: str) -> list[AccountingRecord]:
    """The records of `sacct_jobs`, jobs and steps, in sacct's order. Raises Unreadable."""
    return [_accounting_record([*row, "", ""]) for row in _rows(_whole(text), len(ACCOUNTING_FIELDS))]


def parse_outcome(text: str) -> list[AccountingRecord]:
    """The same for `sacct_outcome`. Raises Unreadable."""
    return [_accounting_record(row) for row in _rows(_whole(text), len(OUTCOME_FIELDS))]


def _accounting_record(row: list[str]) -> AccountingRecord:
    raw, user, state, code, reason, nodes, start, end, submit, limit, rss, memory, uid = row
    job, _, step = raw.partition(".")
    numbers = re.fullmatch(r"(\d+):(\d+)", code)
    return AccountingRecord(
        job_id=job,
        step=step,
        user=user,
        state=state_info(state),
        state_words=state,
        exit_code=int(numbers[1]) if numbers else 0,
        signal=int(numbers[2]) if numbers else 0,
        reason="" if reason == "None" else reason,
        nodes="" if nodes == "None assigned" else nodes,
        start=parse_timestamp(start),
        end=parse_timestamp(end),
        submitted=parse_timestamp(submit),
        time_limit=parse_limit(limit),
        max_rss_mib=_memory_or_none(rss),
        memory_mib=_memory_or_none(memory),
        uid=_uid(uid),
    )


def _memory_or_none(text: str) -> int | None:
    try:
        return parse_memory(text)
    except ValueError:
        return None


def _uid(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() else None
