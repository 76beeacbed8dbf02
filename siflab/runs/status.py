"""The state of a run, derived from what Slurm says and what the attempt left; it is stored nowhere as a truth.

Both must agree before a run counts as completed. What cannot be said is `unknown`.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from siflab.inside import Result
from siflab.runs import words
from siflab.runs.evidence import Evidence
from siflab.slurm.reasons import pending_reason
from siflab.slurm.records import AccountingRecord, QueueRecord
from siflab.slurm.time import parse_timestamp
from siflab.text import Text

GRACE = timedelta(seconds=20)
"""How long after the end of a job its result may be on its way through the file system (NFS caches names for seconds),
and its record on its way to the accounting database."""
GIVEN_UP = timedelta(minutes=5)
"""A job that nobody has seen so long after sbatch was called was never taken."""
_STATES = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "OUT_OF_MEMORY": "out_of_memory",
    "NODE_FAIL": "node_fail",
    "BOOT_FAIL": "node_fail",
    "LAUNCH_FAILED": "node_fail",
    "RECONFIG_FAIL": "node_fail",
    "PREEMPTED": "cancelled",
    "REVOKED": "unknown",
}
_NO_ATTEMPT, _NOT_YOURS = (71, 0), (79, 0)
_BY_CODE = {(0, 53): words.NO_LOG, _NO_ATTEMPT: words.PROBLEMS["no-attempt"], _NOT_YOURS: words.PROBLEMS["not-yours"]}
"""By ExitCode, of a job that left no word of its own: its --output cannot be opened (measured), or it could make no
folder for its attempt."""
_APART = timedelta(seconds=60)
"""Slurm lets about two minutes pass before it starts a requeued job again; the clocks of controller and node are taken
to differ by less than this."""
_WARNINGS = (10, 12)  # SIGUSR1, SIGUSR2: the time limit is near


@dataclass(frozen=True)
class Traces:
    """What the run folder says: of the submission, and of the newest attempt (`number` 0: none has begun).

    `began` and `ended` are job.json and end.json of the batch script; `job_id` is the newest job that is known; `ended`
    and `result` are None unless the attempt is that job's. `not_submitted`: only the script was asked for.
    """

    job_id: str | None
    requested_at: datetime | None
    number: int = 0
    began: dict[str, Any] | None = None
    ended: dict[str, Any] | None = None
    result: Result | None = None
    not_submitted: bool = False


@dataclass(frozen=True)
class Status:
    """`final`: the job is over and all that there will ever be to know is here."""

    state: str
    job_id: str | None = None
    reason: Text | None = None
    node: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    estimated_start: datetime | None = None
    exit_code: int | None = None
    final: bool = False


def derive(traces: Traces, evidence: Evidence, now: datetime) -> Status:
    """The state at `now`."""
    if not evidence.reachable:
        return Status("unknown", traces.job_id, evidence.message)
    job_id = traces.job_id
    if job_id is None:
        return _without_job(traces, now)
    record = evidence.queue.get(job_id)
    if record is not None and record.state.kind != "ended":
        return _in_queue(traces, record)
    rows = evidence.accounting.get(job_id, [])
    row = next((row for row in rows if not row.step), None)
    if row is not None and row.state.kind == "ended":
        return _over(traces, row.state.name, _facts(row, traces), _out_of_memory(rows), now)
    if record is not None:  # ended, and accounting lags or is out of reach
        ended_at = record.end
        facts = Status("unknown", job_id, None, record.batch_host or None, record.start, ended_at)
        facts = replace(facts, exit_code=_exit_code(traces))
        status = _over(traces, record.state.name, facts, False, now)
        return replace(status, final=status.final and (evidence.no_accounting or _older(ended_at, now)))
    if row is not None:
        return Status("completing", job_id, words.RESULT_AWAITED, row.nodes or None, row.start)
    if job_id not in evidence.asked:
        return Status("unknown", job_id, evidence.message)
    return _forgotten(traces, now)


def needs_accounting(job_id: str | None, evidence: Evidence) -> bool:
    """squeue has nothing that says that the job lives."""
    record = evidence.queue.get(job_id or "")
    return job_id is not None and (record is None or record.state.kind == "ended")


def is_earlier(job_id: str, began: dict[str, Any], ended: dict[str, Any] | None, evidence: Evidence) -> bool:
    """The attempt is of a start of the job before its newest: requeued, it has made no folder yet, or could not."""
    record, rows = evidence.queue.get(job_id), evidence.accounting.get(job_id, [])
    row = next((row for row in rows if not row.step), None)
    if row is not None and (row.exit_code, row.signal) == _NO_ATTEMPT and (ended or {}).get("exit_code") != 71:
        return True
    known = record if record is not None and record.state.kind != "pending" else row
    began_at = parse_timestamp(str(began.get("started_at") or ""))
    start = known.start if known is not None else None
    return start is not None and began_at is not None and began_at + _APART < start


def _without_job(traces: Traces, now: datetime) -> Status:
    if traces.requested_at is not None and now - traces.requested_at > GIVEN_UP:
        return Status("failed", None, words.NEVER_SUBMITTED, ended_at=traces.requested_at, final=False)
    if traces.requested_at is None and traces.not_submitted:
        return Status("not_submitted", None, words.BY_HAND)
    return Status("submitting", None, words.SUBMITTING)


def _in_queue(traces: Traces, record: QueueRecord) -> Status:
    job_id, kind = record.job_id, record.state.kind
    if kind == "pending":
        return Status("pending", job_id, pending_reason(record.reason), estimated_start=record.start)
    if kind == "unknown":
        return Status("unknown", job_id, record.state.text, record.batch_host or None, record.start)
    same_job = traces.began is not None and str(traces.began.get("job_id")) == job_id
    state = "completing" if kind == "ending" or (same_job and traces.result is not None) else "running"
    reason = record.state.text if record.state.name not in ("RUNNING", "COMPLETING") else None
    return Status(state, job_id, reason, record.batch_host or None, record.start)


def _facts(row: AccountingRecord, traces: Traces) -> Status:
    exit_code = row.exit_code or (128 + row.signal if row.signal and row.signal < 64 else 0)
    began = row.start if row.nodes else None
    reason = _BY_CODE.get((row.exit_code, row.signal))
    return Status("unknown", row.job_id, reason, row.nodes or None, began, row.end, exit_code=exit_code)


def _over(traces: Traces, slurm: str, facts: Status, out_of_memory: bool, now: datetime) -> Status:
    """The job is over, as `slurm` says."""
    state = _STATES.get(slurm, "unknown")
    result = traces.result
    # end.json is written after the step has ended: when it is here, a result that is not will not come
    awaited = result is None and traces.ended is None and facts.node is not None and not _older(facts.ended_at, now)
    if state == "failed" and out_of_memory:
        state = "out_of_memory"
    if state == "failed" and result is not None and result.status == "stopped" and result.signal in _WARNINGS:
        state = "timeout"
    if state == "completed" and awaited:
        return replace(facts, state="completing", reason=words.RESULT_AWAITED)
    if state == "completed" and (result is None or result.status != "completed"):
        state = "failed"
    return replace(facts, state=state, reason=_reason(state, slurm, facts, traces), final=not awaited)


def _reason(state: str, slurm: str, facts: Status, traces: Traces) -> Text | None:
    result, problem = traces.result, str((traces.ended or {}).get("problem") or "")
    if state == "completed":
        return None
    if state == "timeout":
        return words.TIMEOUT
    if state == "out_of_memory":
        return words.OUT_OF_MEMORY
    if state == "node_fail":
        return words.NODE_FAIL
    if state == "cancelled":
        return words.PREEMPTED if slurm == "PREEMPTED" else words.CANCELLED
    if state == "unknown":
        return Text(f"Slurm says {slurm}.", f"Slurm 的说明：{slurm}。")
    if problem in words.PROBLEMS:
        return words.PROBLEMS[problem]
    if facts.reason is not None:
        return facts.reason
    if result is not None and result.status == "completed":
        return words.disagreement(slurm, facts.exit_code)
    if result is not None and result.message:
        return Text(result.message.get("en", ""), result.message.get("zh", ""))
    return words.NO_RESULT if slurm == "COMPLETED" else words.exited(facts.exit_code)


def _forgotten(traces: Traces, now: datetime) -> Status:
    """Neither squeue nor sacct has the job. The batch script's own last word stands in for Slurm's, where there is one:
    it was written outside of the container, after the step had ended."""
    job_id, ended, began = traces.job_id, traces.ended or {}, traces.began or {}
    facts = Status(
        "unknown",
        job_id,
        words.FORGOTTEN,
        str(began.get("node") or "") or None,
        parse_timestamp(str(began.get("started_at") or "")),
        parse_timestamp(str(ended.get("ended_at") or "")),
    )
    if str(began.get("job_id")) != job_id or "exit_code" not in ended:
        young = traces.requested_at is not None and now - traces.requested_at < GRACE
        return Status("submitting", job_id, words.SUBMITTING) if young and not began else facts
    facts = replace(facts, reason=None, exit_code=_exit_code(traces))
    return _over(traces, "COMPLETED" if facts.exit_code == 0 else "FAILED", facts, False, now)


def _exit_code(traces: Traces) -> int | None:
    code = (traces.ended or {}).get("exit_code")
    return code if isinstance(code, int) else None


def _out_of_memory(rows: list[AccountingRecord]) -> bool:
    """The job is only FAILED when a step ran out of memory and the script said so by its exit code."""
    return any(row.step and row.state.name == "OUT_OF_MEMORY" for row in rows)


def _older(moment: datetime | None, now: datetime) -> bool:
    return moment is None or now - moment > GRACE
