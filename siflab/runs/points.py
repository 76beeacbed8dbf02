"""The points of a sweep as they are: state, duration, and what the notebook recorded of each.

A point is read as a run is (its attempts lie in ``points/N``). What was found of one that is over is kept in
points-status.json, which only holds what can be derived again.
"""

import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from siflab.inside import AttemptFolder, Recovery, attempt_numbers
from siflab.runs import words
from siflab.runs.diagnosing import Diagnosis
from siflab.runs.diagnosis import of_point
from siflab.runs.evidence import Evidence, ask_accounting
from siflab.runs.folder import RunFolder, read_json, write_json
from siflab.runs.reading import Reading
from siflab.runs.run import Run
from siflab.runs.status import GRACE, Status, Traces, derive, needs_accounting
from siflab.runs.viewer import Viewer
from siflab.slurm.answers import as_job_id
from siflab.slurm.time import parse_timestamp
from siflab.text import Text

_RECORDED_LIMIT = 4 * 1024 * 1024  # bytes at the end of metrics.jsonl that are looked at
_RUNNING = ("running", "completing")
_WAITING = ("pending", "submitting", "not_submitted")


@dataclass(frozen=True)
class PointFolder(RunFolder):
    """The run folder of a sweep, seen from one of its points."""

    number: int = 0

    @property
    def attempts(self) -> Path:
        return self.path / "points" / str(self.number) / "attempts"

    def attempt(self, number: int) -> AttemptFolder:
        return AttemptFolder(self.path, number, self.number)

    def attempt_numbers(self) -> list[int]:
        try:
            return attempt_numbers(self.attempts.parent)
        except OSError:
            return []


@dataclass(frozen=True)
class Point:
    """One point. `values` are the last ones that the notebook recorded (`siflab.record`), by name; `seconds` how long
    its newest attempt ran, or has run."""

    number: int
    parameters: dict[str, Any]
    state: str
    reason: Text | None = None
    job_id: str | None = None
    attempts: int = 0
    started_at: str | None = None
    ended_at: str | None = None
    seconds: float | None = None
    exit_code: int | None = None
    error: dict[str, Any] | None = None
    output: str | None = None
    values: dict[str, Any] = field(default_factory=dict)
    final: bool = False

    def as_dict(self) -> dict[str, Any]:
        """The `Point` of openapi.yaml."""
        shown = {name: value for name, value in vars(self).items() if name != "final"}
        shown["reason"] = self.reason.as_dict() if self.reason else None
        shown["state_text"] = words.STATES[self.state].as_dict()
        return shown


class _PointReading(Reading):
    """`alive` is the job id of the point's element in the queue."""

    folder: PointFolder
    diagnosed = False

    def __init__(self, sweep: Reading, number: int, alive: str | None) -> None:
        self.viewer, self.request, self.submission = sweep.viewer, sweep.request, sweep.submission
        self.folder = PointFolder(sweep.folder.path, number)
        self.alive = alive
        self.numbers = self.folder.attempt_numbers()

    def job_id(self, evidence: Evidence) -> str | None:
        """Of the element that lives, else of the newest attempt."""
        if self.alive is not None:
            return self.alive
        began = read_json(self.folder.attempt(self.last).folder / "job.json") if self.last else None
        return as_job_id((began or {}).get("job_id"))

    def status(self, traces: Traces, evidence: Evidence, now: datetime) -> Status:
        if traces.job_id is not None or not evidence.reachable or traces.not_submitted:
            return derive(traces, evidence, now)
        if evidence.elements.get(self.folder.id) or self.submission.get("job_id") is None:
            return derive(traces, evidence, now)
        if _young(traces, now):
            return Status("submitting", None, words.SUBMITTING)
        return Status("cancelled", None, words.NEVER_STARTED, final=True)

    def diagnose(self, traces: Traces, evidence: Evidence, run: Run, recovery: Recovery | None) -> Diagnosis | None:
        return super().diagnose(traces, evidence, run, recovery) if self.diagnosed else None

    def _keep(self, run: Run) -> None:
        """The sweep keeps all its points in one file."""


def living(evidence: Evidence, run_id: str, submission: dict[str, Any]) -> dict[int, str]:
    """point -> job id of its element in the queue, the newest if there are several. An array that is not in
    submission.json was submitted by hand, and begins with the first point."""
    offsets = {str(array.get("job_id")): int(array.get("offset") or 0) for array in submission.get("arrays") or []}
    found: dict[int, str] = {}
    for (array, task), job_id in (evidence.elements.get(run_id) or {}).items():
        point = task + offsets.get(array, 0)
        found[point] = max(found.get(point, job_id), job_id, key=int)
    return found


class SweepReading(Reading):
    """The sweep as a whole, and its points."""

    found: Sequence[Point] = ()

    def job_id(self, evidence: Evidence) -> str | None:
        """None: its points are asked for, each with its own."""
        return None

    def points(self, evidence: Evidence, now: datetime) -> list[Point]:
        told = (read_json(self.folder.points) or {}).get("points") or []
        wanted = {
            one["number"]: one.get("parameters") or {} for one in told if isinstance(one, dict) and "number" in one
        }
        kept = self._kept_points() if evidence.reachable else {}
        alive = living(evidence, self.folder.id, self.submission)
        known, open_ = {}, {}
        for number, parameters in wanted.items():
            folder, before = PointFolder(self.folder.path, number), kept.get(str(number))
            if before is not None and number not in alive and before.get("stamp") == _stamp(folder):
                known[number] = _from_kept(folder, parameters, before)
            else:
                open_[number] = _PointReading(self, number, alive.get(number))
        jobs = [reading.job_id(evidence) for reading in open_.values()]
        evidence = ask_accounting(
            self.viewer, evidence, [job for job in jobs if job and needs_accounting(job, evidence)]
        )
        for number, reading in open_.items():
            known[number] = _point(reading, wanted[number], evidence, now)
        found = [known[number] for number in sorted(known)]
        if evidence.reachable and any(known[number].final for number in open_):
            self._keep_points(found)
        return found

    def _kept_points(self) -> dict[str, Any]:
        return (read_json(self.folder.points_status) or {}).get("points") or {}

    def _keep_points(self, points: list[Point]) -> None:
        kept = {
            str(point.number): {**_plain(point), "stamp": _stamp(PointFolder(self.folder.path, point.number))}
            for point in points
            if point.final
        }
        with suppress(OSError):
            write_json(self.folder.points_status, {"points": kept}, sync=False)

    def status(self, traces: Traces, evidence: Evidence, now: datetime) -> Status:
        """Of all points together."""
        if not evidence.reachable or traces.not_submitted:
            return derive(traces, evidence, now)
        self.found = points = self.points(evidence, now)
        self.counts = Counter(point.state for point in points)
        state = summary(self.counts)
        starts = [parse_timestamp(point.started_at) for point in points if point.started_at]
        ends = [parse_timestamp(point.ended_at) for point in points if point.ended_at]
        over = state not in (*_RUNNING, *_WAITING, "unknown")
        return Status(
            state=state,
            job_id=as_job_id(self.submission.get("job_id")),
            reason=words.points(dict(self.counts)),
            started_at=min((start for start in starts if start), default=None),
            ended_at=max((end for end in ends if end), default=None) if over else None,
            exit_code=next((point.exit_code for point in points if point.exit_code), 0) if over else None,
            final=over and all(point.final for point in points) and not _young(traces, now),
        )

    def diagnose(self, traces: Traces, evidence: Evidence, run: Run, recovery: Recovery | None) -> Diagnosis | None:
        """Of the first point that failed: most of the others have the same cause, and a thousand logs are not read."""
        failed = [point for point in self.found if point.state in words.ENDED - {"completed"}]
        if not failed or run.state not in words.ENDED:
            return None
        evidence = ask_accounting(self.viewer, evidence, [failed[0].job_id or ""])
        reading = _PointReading(self, failed[0].number, None)
        reading.diagnosed = True
        told = reading.run(evidence, datetime.now().astimezone()).diagnosis
        return of_point(told, failed[0].number, run.id) if told is not None else None


def summary(counts: Counter[str]) -> str:
    """The state of a sweep whose points are in these."""
    for states, state in ((_RUNNING, "running"), (_WAITING, "pending"), (("unknown",), "unknown")):
        if any(counts.get(one) for one in states):
            return "running" if state == "pending" and counts.get("completed") else state
    for state in ("failed", "out_of_memory", "timeout", "node_fail", "cancelled"):
        if counts.get(state):
            return state
    return "completed" if counts else "unknown"


def _young(traces: Traces, now: datetime) -> bool:
    """So new that Slurm may not show its elements yet."""
    return traces.requested_at is not None and now - traces.requested_at < GRACE


def _point(reading: _PointReading, parameters: dict[str, Any], evidence: Evidence, now: datetime) -> Point:
    run = reading.run(evidence, now)
    begun, ended = run.started_at, run.ended_at
    attempt = reading.folder.attempt(reading.last) if reading.last else None
    waits = run.state in _WAITING
    return Point(
        number=reading.folder.number,
        parameters=parameters,
        state=run.state,
        reason=run.reason,
        job_id=run.job_id,
        attempts=run.attempts,
        started_at=begun.isoformat() if begun and not waits else None,
        ended_at=ended.isoformat() if ended else None,
        seconds=round(((ended or now) - begun).total_seconds(), 1) if begun and not waits else None,
        exit_code=run.exit_code,
        error=run.error,
        output=run.output,
        values=recorded(attempt) if attempt is not None else {},
        final=reading.final,
    )


def recorded(attempt: AttemptFolder) -> dict[str, Any]:
    """The last value of each name that was recorded, by rank 0 or without a rank."""
    values: dict[str, Any] = {}
    try:
        with attempt.metrics.open("rb") as stream:
            stream.seek(0, 2)
            stream.seek(max(0, stream.tell() - _RECORDED_LIMIT))
            lines = stream.read().split(b"\n")
    except OSError:
        return {}
    for line in lines:
        with suppress(ValueError, RecursionError):
            told = json.loads(line)
            if isinstance(told, dict) and isinstance(told.get("values"), dict) and not told.get("rank"):
                values.update(told["values"])
    return values


def _plain(point: Point) -> dict[str, Any]:
    """As it is kept: without what depends on who looks."""
    shown = point.as_dict()
    return {
        name: value for name, value in shown.items() if name not in ("output", "state_text", "parameters", "number")
    }


def _from_kept(folder: PointFolder, parameters: dict[str, Any], kept: dict[str, Any]) -> Point:
    reason = kept.get("reason")
    state = kept.get("state")
    numbers = kept.get("attempts") or 0
    output = folder.attempt(numbers).output if numbers else None
    return Point(
        number=folder.number,
        parameters=parameters,
        state=state if isinstance(state, str) and state in words.STATES else "unknown",
        reason=Text(str(reason.get("en", "")), str(reason.get("zh", ""))) if isinstance(reason, dict) else None,
        output=str(output) if output is not None and output.exists() else None,
        final=True,
        **{name: kept.get(name) for name in ("job_id", "started_at", "ended_at", "seconds", "exit_code", "error")},
        attempts=numbers,
        values=kept.get("values") or {},
    )


def _stamp(folder: PointFolder) -> int:
    try:
        return folder.attempts.stat().st_mtime_ns
    except OSError:
        return 0


def reading_of(viewer: Viewer, folder: RunFolder) -> Reading:
    """As its mode wants it read."""
    reading = Reading(viewer, folder)
    return SweepReading(viewer, folder) if (reading.request or {}).get("mode") == "sweep" else reading
