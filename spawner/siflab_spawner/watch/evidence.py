"""Proof that a job ended, and what it ended of: squeue's final states, scontrol, sacct.

scontrol knows a job until MinJobAge (300 s by default) after its end, with exit code and reason, and needs no
accounting; sacct knows it for good, and by whom it was cancelled and how much memory it used, but lags by seconds.

What scontrol prints holds free text of the job's owner (JobName, Comment, paths), which may look like any other part of
it. A field is believed only where its name stands once.
"""

import asyncio
import pwd
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from siflab.slurm.commands import sacct_outcome, scontrol_job, squeue_jobs
from siflab.slurm.execute import Completed, PosixUser
from siflab.slurm.memory import parse_memory
from siflab.slurm.records import AccountingRecord, QueueRecord, Unreadable, parse_outcome
from siflab.slurm.states import StateInfo, state_info
from siflab.slurm.time import parse_limit, parse_timestamp
from siflab.text import Text
from siflab_spawner.start.mark import ANY, Ours
from siflab_spawner.watch.outcome import Outcome
from siflab_spawner.watch.queue_answer import UNKNOWN_JOB, NoProof, read_queue

NOT_OURS = StateInfo("NOT_OURS", "ended", Text("the number is another job's now", "该编号现属于另一个作业"))
_GONE = StateInfo("GONE", "ended", Text("no longer known to Slurm", "Slurm 已没有其记录"))
_NAMES = "JobState Reason ExitCode EndTime BatchHost TimeLimit UserId MinMemoryNode"
_WORD = {name: re.compile(rf"(?:^|\s){name}=(\S+)") for name in _NAMES.split()}
_USER_ID = re.compile(r"\((\d{1,10})\)$", re.ASCII)
_CODE = re.compile(r"(\d{1,9}):(\d{1,9})", re.ASCII)
_BY = re.compile(r"CANCELLED by (\d{1,10})", re.ASCII)
_PAUSES = (0.5, 0.5, 1.0, 2.0)  # seconds
_TELLS_ALL = ("NODE_FAIL", "BOOT_FAIL", "DEADLINE", "COMPLETED", "PREEMPTED", "TIMEOUT")


class Ask(Protocol):
    """How Slurm is asked (`Slurm.arun`)."""

    async def arun(self, argv: list[str], *, user: PosixUser | None = None) -> Completed: ...


@dataclass(frozen=True)
class Hidden:
    """The job lives, but Slurm hides it from the Hub's account; its owner sees it."""

    record: QueueRecord


async def confirm_end(
    slurm: Ask,
    job_id: str,
    record: QueueRecord | None,
    ours: Ours = ANY,
    *,
    sees_all: bool = True,
    owner: PosixUser | None = None,
    as_owner: bool = False,
    patient: bool = False,
) -> Outcome | Hidden | None:
    """The outcome of a job that squeue shows as ended (`record`) or lacks; None when nothing confirms that it ended.

    Unless the Hub's account `sees_all` jobs, one that it does not see is asked for as its `owner` too. `as_owner`: ask
    everything as the owner. `patient`: accounting, which lags, is waited for some seconds where it knows more.
    """
    asker = owner if as_owner else None
    shown = await slurm.arun(scontrol_job(job_id), user=asker)
    said = read_scontrol(job_id, shown, owner)
    if said == "lives":
        return None
    outcome = said if isinstance(said, Outcome) else None
    if outcome is not None and outcome.state.name in (*_TELLS_ALL, NOT_OURS.name):
        return outcome
    from_accounting = await _ask_accounting(slurm, job_id, ours, owner, asker, _PAUSES if patient and outcome else ())
    if from_accounting is not None:
        return await asyncio.to_thread(_named, from_accounting)
    if outcome is not None:
        return outcome
    if record is not None and record.state.kind == "ended":
        return Outcome(
            job_id,
            record.state,
            reason=record.reason,
            ended_at=record.end,
            node=record.batch_host,
            time_limit=record.time_limit,
        )
    if said != "gone" or as_owner or sees_all:
        return Outcome(job_id, _GONE) if said == "gone" else None
    return await _ask_owner(slurm, job_id, owner)


async def _ask_accounting(
    slurm: Ask, job_id: str, ours: Ours, owner: PosixUser | None, asker: PosixUser | None, pauses: Sequence[float]
) -> Outcome | None:
    for pause in (*pauses, None):
        counted = await slurm.arun(sacct_outcome(job_id), user=asker)
        found = outcome_of_sacct(job_id, counted.stdout, ours, owner) if counted.ok else None
        if found is not None or pause is None or not counted.ok:
            return found
        await asyncio.sleep(pause)
    return None


async def _ask_owner(slurm: Ask, job_id: str, owner: PosixUser | None) -> Outcome | Hidden | None:
    """The Hub's account does not know the job, which it would say as well of one that it may not see."""
    if owner is None:
        return None
    try:
        records = await read_queue(await slurm.arun(squeue_jobs([job_id]), user=owner), [job_id])
    except NoProof:
        return None
    if not records:
        return Outcome(job_id, _GONE)
    record = records[job_id]
    return None if record.state.kind == "ended" else Hidden(record)


def read_scontrol(
    job_id: str, shown: Completed, owner: PosixUser | None = None
) -> Outcome | Literal["lives", "gone", "unclear"]:
    """What ``scontrol --oneliner show job`` says: how it ended, that it lives or is not known, or nothing clear."""
    if not shown.ok:
        return "gone" if UNKNOWN_JOB in shown.stderr and not shown.unreachable else "unclear"
    fields = fields_of_scontrol(job_id, shown.stdout)
    state = state_info(fields.get("JobState", ""))
    if state.kind == "unknown":
        return "unclear"
    uid = _USER_ID.search(fields.get("UserId", ""))
    if owner is not None and uid is not None and int(uid[1]) != owner.uid:
        return Outcome(job_id, NOT_OURS)
    if state.kind != "ended":
        return "lives"
    code, signal = _exit_code(fields.get("ExitCode", ""))
    reason = fields.get("Reason", "")
    return Outcome(
        job_id,
        state,
        exit_code=code,
        signal=signal,
        reason="" if reason == "None" else reason,
        ended_at=parse_timestamp(fields.get("EndTime", "")),
        node=fields.get("BatchHost", ""),
        time_limit=_limit(fields.get("TimeLimit", "")),
        uid=int(uid[1]) if uid else None,
        memory_mib=_memory(fields.get("MinMemoryNode", "")),
    )


def fields_of_scontrol(job_id: str, text: str) -> dict[str, str]:
    """The fields that can be believed; none where the text is not about this job alone."""
    if not text.startswith(f"JobId={job_id} "):
        return {}
    found = {name: pattern.findall(text) for name, pattern in _WORD.items()}
    return {name: values[0] for name, values in found.items() if len(values) == 1}


def outcome_of_sacct(job_id: str, text: str, ours: Ours = ANY, owner: PosixUser | None = None) -> Outcome | None:
    """From `sacct_outcome`; None when accounting does not (yet) say that our job ended. A step that ran out of memory
    says more than the job, which is then only FAILED."""
    try:
        rows = [row for row in parse_outcome(text) if row.job_id == job_id]
    except Unreadable:
        return None
    job = next((row for row in rows if not row.step), None)
    if job is None or job.state.kind != "ended" or not _is_ours(job, ours, owner):
        return None
    steps = [row for row in rows if row.step]
    state = job.state
    if any(row.state.name == "OUT_OF_MEMORY" for row in steps):
        state = state_info("OUT_OF_MEMORY")
    by = _BY.search(job.state_words)
    return Outcome(
        job_id,
        state,
        exit_code=job.exit_code,
        signal=job.signal,
        reason=job.reason,
        ended_at=job.end,
        node=job.nodes,
        time_limit=job.time_limit,
        cancelled_by=int(by[1]) if by else None,
        uid=job.uid,
        memory_mib=job.memory_mib,
        used_mib=max((row.max_rss_mib or 0 for row in steps), default=0) or None,
    )


def _is_ours(job: AccountingRecord, ours: Ours, owner: PosixUser | None) -> bool:
    """Ids can begin anew, and accounting shows the newest job of an id that it has heard of."""
    if owner is not None and job.uid is not None and job.uid != owner.uid:
        return False
    return not ours.is_older(job.submitted)


def _named(outcome: Outcome) -> Outcome:
    """With the name of whom it was cancelled by; that may ask a directory service."""
    if outcome.cancelled_by is None:
        return outcome
    try:
        return replace(outcome, cancelled_by_name=pwd.getpwuid(outcome.cancelled_by).pw_name)
    except (KeyError, OverflowError):
        return outcome


def _limit(text: str) -> int | None:
    try:
        return parse_limit(text)
    except ValueError:
        return None


def _memory(text: str) -> int | None:
    try:
        return parse_memory(text) or None
    except ValueError:
        return None


def _exit_code(text: str) -> tuple[int, int]:
    match = _CODE.fullmatch(text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
