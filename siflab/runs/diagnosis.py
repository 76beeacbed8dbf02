"""The diagnosis of a run: its folder's files and Slurm's answer, brought together for `siflab.runs.diagnosing`."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

from siflab.inside import Recovery
from siflab.runs import words
from siflab.runs.diagnosing import Case, Diagnosis, Place, diagnose, with_accounting, with_logs
from siflab.runs.evidence import Evidence
from siflab.runs.folder import RunFolder
from siflab.runs.run import Run
from siflab.runs.status import Traces
from siflab.runs.viewer import Viewer
from siflab.slurm.reasons import never_starts
from siflab.text import Text


def diagnosis_of(
    viewer: Viewer,
    folder: RunFolder,
    request: dict[str, Any],
    traces: Traces,
    evidence: Evidence,
    run: Run,
    recovery: Recovery | None,
) -> Diagnosis | None:
    """Of a run that is over and did not complete, or that cannot start; None for all else. What a damaged folder holds
    is no reason to fail: it has no diagnosis then."""
    record = evidence.queue.get(traces.job_id or "")
    reason = record.reason if record is not None and run.state == "pending" else ""
    over = run.state in words.ENDED and run.state != "completed"
    if not over and not never_starts(reason):
        return None
    with suppress(Exception):
        case = _case(request, traces, run, recovery, reason)
        if over:
            attempt = folder.attempt(traces.number) if traces.number else None
            case = with_accounting(case, evidence.accounting.get(traces.job_id or "", []))
            case = with_logs(case, attempt, folder.job_log())
        return diagnose(case, viewer.site, str(request.get("profile") or ""))
    return None


def _case(request: dict[str, Any], traces: Traces, run: Run, recovery: Recovery | None, reason: str) -> Case:
    ended = traces.ended or {}
    code = ended.get("step_exit_code") or ended.get("exit_code")
    place = Place(attempt=traces.number or None, node=run.node)
    if recovery is not None:
        place = replace(place, cell=recovery.cell, cell_number=recovery.cell_number)
    attempts = request.get("attempts")
    return Case(
        state=run.state,
        reason=reason,
        run_id=run.id,
        is_distributed=run.mode == "distributed",
        exit_code=code if isinstance(code, int) else run.exit_code,
        problem=str(ended.get("problem") or ""),
        result=traces.result,
        place=place,
        asked=run.resources,
        attempts_asked=attempts if isinstance(attempts, int) else 1,
    )


def of_point(told: Diagnosis, number: int, run_id: str) -> Diagnosis:
    """A point's diagnosis as its sweep's. A changed resubmission would run all points again, so none is offered."""
    head = Text(f"Point {number} failed first.", f"最先失败的是点 {number}。")
    then = Text(
        f"`siflab points {run_id} --rerun-failed` runs those that failed again.",
        f"可用 `siflab points {run_id} --rerun-failed` 重新运行失败的点。",
    )
    return replace(told, message=head + told.message + then, changes=())
