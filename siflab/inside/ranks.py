"""What each process of a distributed run leaves: ``attempts/K/ranks/N.json``, one writer each, written last.

``{"rank": 0, "status": "completed|failed|stopped|internal|dead_kernel", "at": ISO time, "error": {...} or null, ...}``
with the error as in `result.Failure`. For a process that was killed its node writes it (`node`).
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from signal import SIGTERM
from typing import Any

from .attempt import AttemptFolder, now, read_json
from .outcome import Outcome
from .result import Failure, Words, failure_of, words_of
from .saving import replace_json

_SECONDARY = re.compile(
    r"Connection closed by peer|Connection reset by peer|Broken pipe|Socket closed|Read timed out"
    r"|DistBackendError|DistNetworkError|RendezvousConnectionError|remote process exited"
    r"|NCCL (?:error|communicator was aborted)"
)
"""Of an error that follows when another rank has gone."""


@dataclass(frozen=True)
class RankReport:
    """`seconds`: when it was written, since the epoch, to order what different nodes say."""

    rank: int
    status: str
    at: str
    seconds: float
    error: Failure | None = None
    signal: int | None = None
    message: Words | None = None

    @property
    def place(self) -> tuple[object, ...]:
        """Equal for ranks that met the same error in the same line."""
        error = self.error
        about = None if error is None else (error.ename, error.cell, error.line)
        return (self.status, self.is_secondary, about if error is not None and error.line else self.rank)

    @property
    def is_secondary(self) -> bool:
        """Its error says only that another rank was gone, or it was ended because one was."""
        error = self.error
        if self.status == "dead_kernel":
            return self.signal == SIGTERM
        return error is not None and says_peer_gone(error.ename, error.evalue)


def says_peer_gone(ename: str, evalue: str) -> bool:
    """Of an error that follows when another rank has gone."""
    return bool(_SECONDARY.search(f"{ename}: {evalue[:2000]}"))


def folder_of(attempt: AttemptFolder) -> Path:
    return attempt.folder / "ranks"


def log_of(attempt: AttemptFolder, rank: int) -> Path:
    """What a rank prints; rank 0's goes to the run's own log, and into the notebook."""
    return attempt.run_log if rank == 0 else attempt.run_log.with_name(f"rank-{rank}.log")


def write_report(attempt: AttemptFolder, rank: int, outcome: Outcome, seconds: float) -> None:
    """Raises OSError."""
    folder_of(attempt).mkdir(parents=True, exist_ok=True)
    error = replace(outcome.error, rank=rank) if outcome.error is not None else None
    report = RankReport(rank, outcome.status, now(), seconds, error, outcome.signal, outcome.message)
    replace_json(folder_of(attempt) / f"{rank}.json", asdict(report))


def read_reports(attempt: AttemptFolder) -> dict[int, RankReport]:
    """By rank; those that are there and whole."""
    found: dict[int, RankReport] = {}
    try:
        paths = sorted(folder_of(attempt).glob("*.json"))
    except OSError:
        return {}
    for path in paths:
        value = read_json(path)
        if value is not None and isinstance(value.get("rank"), int) and isinstance(value.get("status"), str):
            found[value["rank"]] = _report(value)
    return found


def root_cause(reports: dict[int, RankReport]) -> RankReport | None:
    """The failure that came first, of the first rank that has the same; one that says only that another rank was gone
    counts when there is no other."""
    failed = [report for report in reports.values() if report.status in ("failed", "internal", "dead_kernel")]
    first = min(failed, key=lambda report: (report.is_secondary, report.seconds), default=None)
    same = [report for report in failed if first is not None and report.place == first.place]
    return min(same, key=lambda report: report.rank, default=None)


def _report(value: dict[str, Any]) -> RankReport:
    seconds, number = value.get("seconds"), value.get("signal")
    return RankReport(
        rank=value["rank"],
        status=value["status"],
        at=str(value.get("at", "")),
        seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
        error=failure_of(value.get("error")),
        signal=number if isinstance(number, int) else None,
        message=words_of(value.get("message")),
    )
