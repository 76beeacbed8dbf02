"""A closer look at one job, where squeue alone does not settle it: it is gone or over, or may not be ours any more."""

from dataclasses import dataclass

from siflab.slurm.commands import squeue_comment
from siflab.slurm.execute import PosixUser
from siflab.slurm.records import QueueRecord, Unreadable, parse_own_squeue
from siflab.slurm.states import Kind
from siflab_spawner.start.mark import Ours
from siflab_spawner.watch.evidence import NOT_OURS, Ask, Hidden, confirm_end
from siflab_spawner.watch.outcome import Outcome


@dataclass(frozen=True)
class Reading:
    """What is known of a job. `record` is the last that squeue gave; `outcome` is there when `kind` is ``ended``."""

    kind: Kind = "unknown"
    record: QueueRecord | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True)
class Doubt:
    """A job in question: `record` is what squeue just said of it (None: it lacks it), `last` what it said before.
    `owner`: its owner's account, where that could be told; `as_owner`: Slurm is to be asked as the owner; `sees_all`:
    nothing can be hidden from the Hub's account, now or after a change of Slurm's configuration; `patient`: see
    `confirm_end`."""

    job_id: str
    ours: Ours
    record: QueueRecord | None
    last: QueueRecord | None
    owner: PosixUser | None
    as_owner: bool
    sees_all: bool
    patient: bool = False


def is_surely_ours(ours: Ours, record: QueueRecord, verified: object = None) -> bool:
    """By owner and time of submission (or by a time for which the mark was `verified`), with no further question."""
    timely = ours.is_timely(record.submitted) or (record.submitted is not None and record.submitted == verified)
    return timely and (not ours.owner or record.user == ours.owner)


async def look_closer(slurm: Ask, doubt: Doubt) -> Reading | Hidden | None:
    """The reading; None where nothing is proved, and the last reading stays."""
    record, owner = doubt.record, doubt.owner
    if record is not None and doubt.ours.owner and record.user != doubt.ours.owner:
        if owner is None or record.uid is None:
            return None
        if record.uid != owner.uid:  # the same number may go by two names
            return _not_ours(doubt)
    if record is not None and record.state.kind != "ended":
        if not doubt.ours.is_timely(record.submitted) and doubt.ours.mark:
            has_mark = await _has_mark(slurm, doubt)
            if has_mark is not True:
                return None if has_mark is None else _not_ours(doubt)
        return None if record.state.kind == "unknown" else Reading(record.state.kind, record)
    found = await confirm_end(
        slurm,
        doubt.job_id,
        record or doubt.last,
        doubt.ours,
        sees_all=doubt.sees_all,
        owner=owner,
        as_owner=doubt.as_owner,
        patient=doubt.patient,
    )
    return Reading("ended", record or doubt.last, found) if isinstance(found, Outcome) else found


async def _has_mark(slurm: Ask, doubt: Doubt) -> bool | None:
    """Whether the job carries our mark; None where that cannot be told. Its owner can change it, to their own harm."""
    done = await slurm.arun(squeue_comment(doubt.job_id), user=doubt.owner if doubt.as_owner else None)
    if not done.ok or "error" in done.stderr.lower():
        return None
    try:
        comments = [record.comment for record in parse_own_squeue(done.stdout) if record.job_id == doubt.job_id]
    except Unreadable:
        return None
    return comments[0] == doubt.ours.mark if len(comments) == 1 else None


def _not_ours(doubt: Doubt) -> Reading:
    return Reading("ended", doubt.last, Outcome(doubt.job_id, NOT_OURS))
