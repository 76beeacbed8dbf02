"""From a run folder and Slurm's answer to a `Run`. What was found of a run that is over is kept in its status.json."""

from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from siflab.inside import Failure, Recovery, Result, read_progress, read_result, recover
from siflab.runs import words
from siflab.runs.diagnosing import Diagnosis
from siflab.runs.diagnosis import diagnosis_of
from siflab.runs.evidence import Evidence
from siflab.runs.folder import RunFolder, read_json, write_json
from siflab.runs.run import Run
from siflab.runs.source import source_changed
from siflab.runs.status import Status, Traces, derive, is_earlier
from siflab.runs.viewer import Viewer
from siflab.slurm.answers import as_job_id
from siflab.slurm.time import parse_timestamp
from siflab.text import Text

_NO_RESOURCES = {
    "partition": "", "nodes": 0, "gpus": 0, "gpu_type": None, "cpus": 0, "memory_mib": 0, "time_seconds": 0,
    "image": "",
}  # fmt: skip


class Reading:
    """One run folder, its files read when they are needed."""

    final = False
    """Of the run that `run` gave: nothing more will happen to it."""
    counts: dict[str, int] | None = None
    """A sweep's points by state."""

    def __init__(self, viewer: Viewer, folder: RunFolder) -> None:
        self.viewer, self.folder = viewer, folder
        self.request = read_json(folder.request)
        self.numbers = folder.attempt_numbers()
        self.submission = read_json(folder.submission) or {}

    @property
    def last(self) -> int:
        return self.numbers[-1] if self.numbers else 0

    def job_id(self, evidence: Evidence) -> str | None:
        """The newest job of this run: of the submission, of a submission by hand, or of the newest attempt."""
        began = (read_json(self.folder.attempt(self.last).folder / "job.json") or {}) if self.last else {}
        known = [self.submission.get("job_id"), began.get("job_id"), evidence.job_of(self.folder.id)]
        numbers = [int(job) for job in map(str, known) if job.isdigit()]
        return str(max(numbers)) if numbers else None

    def traces(self, evidence: Evidence) -> Traces:
        job_id = self.job_id(evidence)
        requested = parse_timestamp(str(self.submission.get("requested_at") or ""))
        if not self.last:
            by_hand = bool(((self.request or {}).get("request") or {}).get("script_only"))
            return Traces(job_id, requested, not_submitted=by_hand)
        attempt = self.folder.attempt(self.last)
        with suppress(OSError):  # a network file system looks again for files that were not there
            list(attempt.folder.iterdir())
        began = read_json(attempt.folder / "job.json")
        if began is None or str(began.get("job_id")) != job_id:
            return Traces(job_id, requested, self.last, began)
        ended = read_json(attempt.folder / "end.json")
        if is_earlier(str(job_id), began, ended, evidence):
            return Traces(job_id, requested)
        return Traces(job_id, requested, self.last, began, ended, read_result(attempt))

    def run(self, evidence: Evidence, now: datetime) -> Run:
        """The run as it is; a final state is kept, and an attempt without a result is recovered."""
        traces = self.traces(evidence)
        status = self.status(traces, evidence, now)
        self.final = status.final
        recovery = self._recover(traces) if status.final else None
        if recovery is not None and status.reason is not None and status.state != "completed":
            status = replace(status, reason=status.reason + words.killed_in(recovery.cell_number))
        run = self.assemble(status, self._progress(status, traces, recovery), _error(traces.result))
        if status.final or status.state == "pending":
            run = replace(run, diagnosis=self.diagnose(traces, evidence, run, recovery))
        if status.final:
            self._keep(run)
        return run

    def status(self, traces: Traces, evidence: Evidence, now: datetime) -> Status:
        return derive(traces, evidence, now)

    def diagnose(self, traces: Traces, evidence: Evidence, run: Run, recovery: Recovery | None) -> Diagnosis | None:
        return diagnosis_of(self.viewer, self.folder, self.request or {}, traces, evidence, run, recovery)

    def assemble(self, status: Status, progress: dict[str, Any] | None, error: dict[str, Any] | None) -> Run:
        request = self.request
        created = parse_timestamp(self.folder.path.name[:15].replace("-", "T"))
        about = request or {}
        output = self.folder.attempt(self.last).output if self.last else None
        resources = about.get("resources")
        return Run(
            id=self.folder.id,
            name=str(about.get("name") or self.folder.path.name),
            state=status.state if request else "unknown",
            reason=status.reason if request else words.UNREADABLE,
            source=self.viewer.shown(str(about.get("source") or "")) if request else "",
            folder=str(self.folder.path),
            created_at=parse_timestamp(str(about.get("created_at") or "")) or created or datetime.now().astimezone(),
            resources={**_NO_RESOURCES, **resources} if isinstance(resources, dict) else dict(_NO_RESOURCES),
            attempts=len(self.numbers),
            mode=str(about.get("mode") or "notebook"),
            kind=str(about.get("kind") or "notebook"),
            job_id=status.job_id,
            source_sha256=about.get("source_sha256"),
            source_changed=source_changed(self.viewer, about),
            output=str(output) if output is not None and output.exists() else None,
            started_at=status.started_at,
            ended_at=status.ended_at,
            estimated_start=status.estimated_start,
            node=status.node,
            exit_code=status.exit_code,
            error=error,
            progress=progress,
            points=dict(self.counts) if self.counts is not None else None,
        )

    def _recover(self, traces: Traces) -> Recovery | None:
        """The job is gone: of each attempt that left no result the journal becomes the output notebook. What was found
        of the newest, if it is one of those. A folder that is damaged or not writable is left as it is."""
        found = None
        for number in self.numbers:
            found = None
            with suppress(Exception):
                attempt = self.folder.attempt(number)
                found = recover(attempt.run, number, attempt.point)
        return found if traces.number and traces.result is None else None

    def _progress(self, status: Status, traces: Traces, recovery: Recovery | None) -> dict[str, Any] | None:
        if not traces.number or status.state in ("pending", "submitting"):
            return None
        seen = read_progress(self.folder.attempt(traces.number))
        if traces.result is not None and traces.result.cells_total:
            done, total, current = traces.result.cells_done, traces.result.cells_total, None
        elif recovery is not None:
            done, total, current = recovery.cells_done, recovery.cells_total, None
        elif seen is not None:
            done, total, current = seen.cells_done, seen.cells_total, seen.current_cell
        else:
            return None
        updated = seen.updated_at if seen is not None else None
        return {"cells_total": total, "cells_done": done, "current_cell": current, "updated_at": updated}

    def _keep(self, run: Run) -> None:
        kept = {**run.as_dict(), "attempt_numbers": self.numbers}
        for name in ("source", "folder", "output", "source_changed", "state_text"):
            del kept[name]  # as this viewer sees them, or derived
        with suppress(OSError):
            write_json(self.folder.status, kept, sync=False)


def kept_run(viewer: Viewer, folder: RunFolder, evidence: Evidence) -> Run | None:
    """The run as it was kept, if it was and no newer attempt or job has come since (job.sh can be submitted again by
    hand). Of a run that has ended only the file times are looked at, once it was read."""
    stamp = _stamp(folder)
    if stamp is None:
        return None
    remembered = viewer.memory.get(("run", folder.path))
    if remembered is None or remembered[0] != stamp:
        kept = read_json(folder.status)
        reading = Reading(viewer, folder)
        if kept is None or kept.get("attempt_numbers") != reading.numbers or kept.get("state") not in words.STATES:
            return None
        remembered = (stamp, reading.request, _from_kept(reading, kept))
        viewer.memory["run", folder.path] = remembered
    _, request, run = remembered
    newer = evidence.job_of(folder.id)
    if newer is not None and run.job_id is not None and int(newer) > int(run.job_id):
        return None
    assert isinstance(run, Run)
    return replace(run, source_changed=source_changed(viewer, request or {}))


def _stamp(folder: RunFolder) -> tuple[int, int] | None:
    try:
        kept = folder.status.stat().st_mtime_ns
        if kept < folder.submission.stat().st_mtime_ns:  # submitted again since
            return None
    except OSError:
        return None
    try:
        return kept, folder.attempts.stat().st_mtime_ns
    except OSError:
        return kept, 0


def _from_kept(reading: Reading, kept: dict[str, Any]) -> Run:
    reason = kept.get("reason")
    status = Status(
        state=str(kept["state"]),
        job_id=as_job_id(kept.get("job_id")),
        reason=Text(str(reason.get("en", "")), str(reason.get("zh", ""))) if isinstance(reason, dict) else None,
        node=kept.get("node"),
        started_at=parse_timestamp(str(kept.get("started_at") or "")),
        ended_at=parse_timestamp(str(kept.get("ended_at") or "")),
        exit_code=kept.get("exit_code"),
        final=True,
    )
    reading.counts = kept.get("points")
    run = reading.assemble(status, kept.get("progress"), kept.get("error"))
    return replace(run, diagnosis=Diagnosis.from_dict(kept.get("diagnosis")))


def _error(result: Result | None) -> dict[str, Any] | None:
    if result is None or not isinstance(result.error, Failure):
        return None
    error = asdict(result.error)
    return {name: error[name] for name in ("ename", "evalue", "cell", "cell_number", "line", "rank")}
