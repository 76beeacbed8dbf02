"""Proof that a job ended, and what it ended of: squeue's final states, scontrol, sacct.

scontrol knows a job until MinJobAge (300 s by default) after its end, with exit code and reason, and needs no
accounting; sacct knows it for good, and by whom it was cancelled, but lags by seconds.
"""

import re

from siflab.slurm.commands import sacct_jobs, scontrol_job
from siflab.slurm.execute import Slurm
from siflab.slurm.records import QueueRecord, Unreadable, parse_sacct
from siflab.slurm.states import StateInfo, state_info
from siflab.slurm.time import parse_timestamp
from siflab.text import Text
from siflab_spawner.outcome import Outcome

_GONE = "Invalid job id specified"
_WORD = {
    name: re.compile(rf"(?:^|\s){name}=(\S+)")
    for name in ("JobState", "Reason", "ExitCode", "EndTime", "BatchHost", "TimeLimit")
}


async def confirm_end(slurm: Slurm, job_id: str, record: QueueRecord | None) -> Outcome | None:
    """The outcome of a job that squeue shows as ended (`record`) or lacks; None when nothing confirms that it ended."""
    shown = await slurm.arun(scontrol_job(job_id))
    from_controller = outcome_of_scontrol(job_id, shown.stdout) if shown.ok else None
    if shown.ok and from_controller is None:
        return None  # it lives, or cannot be read
    gone = not shown.ok and _GONE in shown.stderr
    if from_controller is not None and not _needs_accounting(from_controller):
        return from_controller
    counted = await slurm.arun(sacct_jobs([job_id]))
    from_accounting = outcome_of_sacct(job_id, counted.stdout) if counted.ok else None
    if from_accounting is not None:
        return from_accounting
    if from_controller is not None:
        return from_controller
    if record is not None and record.state.kind == "ended":
        return Outcome(job_id, record.state, reason=record.reason, ended_at=record.end, node=record.batch_host)
    return Outcome(job_id, _NO_RECORD) if gone else None


def outcome_of_scontrol(job_id: str, text: str) -> Outcome | None:
    """From ``scontrol --oneliner show job``; None when the job has not ended."""
    state = state_info(_field("JobState", text))
    if state.kind != "ended":
        return None
    code, signal = _exit_code(_field("ExitCode", text))
    reason = _field("Reason", text)
    return Outcome(
        job_id,
        state,
        exit_code=code,
        signal=signal,
        reason="" if reason == "None" else reason,
        ended_at=parse_timestamp(_field("EndTime", text)),
        node=_field("BatchHost", text),
        time_limit=_field("TimeLimit", text),
    )


def outcome_of_sacct(job_id: str, text: str) -> Outcome | None:
    """From `sacct_jobs`; None when accounting does not (yet) say that the job ended. A step that ran out of memory says
    more than the job, which is then only FAILED."""
    try:
        rows = [row for row in parse_sacct(text) if row.job_id == job_id]
    except Unreadable:
        return None
    job = next((row for row in rows if not row.step), None)
    if job is None or job.state.kind != "ended":
        return None
    state = job.state
    if any(row.step and row.state.name == "OUT_OF_MEMORY" for row in rows):
        state = state_info("OUT_OF_MEMORY")
    by = re.search(r"CANCELLED by (\d+)", job.state_words)
    return Outcome(
        job_id,
        state,
        exit_code=job.exit_code,
        signal=job.signal,
        reason=job.reason,
        ended_at=job.end,
        node=job.nodes,
        cancelled_by=int(by[1]) if by else None,
    )


_NO_RECORD = StateInfo("GONE", "ended", Text("no longer known to Slurm", "Slurm 已没有其记录"))


def _needs_accounting(outcome: Outcome) -> bool:
    """Where accounting says more: who cancelled it, and whether a step ran out of memory."""
    return outcome.state.name in ("CANCELLED", "FAILED")


def _field(name: str, text: str) -> str:
    match = _WORD[name].search(text)
    return match[1] if match else ""


def _exit_code(text: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+):(\d+)", text)
    return (int(match[1]), int(match[2])) if match else (0, 0)
