"""What is known of an attempt that is over: Slurm's word, the runner's, the script's, and the ends of the logs."""

import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from siflab.inside import AttemptFolder, Failure, Result
from siflab.runs.diagnosing.diagnosis import Place
from siflab.slurm.records import AccountingRecord

TAIL = 256 * 1024
"""Bytes of logs that are read at most: most of them of run.log."""
_SHARES = ((5, 8), (1, 8))
"""run.log's, and that of each of kernel.log and what Slurm said; the rest is for the ranks' own logs."""


@dataclass(frozen=True)
class Case:
    """`state` is the run's (`siflab.runs.words.STATES`), `slurm` Slurm's own word, `slurm_code` the halves of its
    ExitCode. `reason` is squeue's, of a job that waits. `used_mib` is sacct's MaxRSS, which misses short peaks. `log`
    is the end of run.log, `around` that of the other logs. `asked` are the `Resources` of openapi.yaml."""

    state: str
    slurm: str = ""
    slurm_code: tuple[int, int] = (0, 0)
    reason: str = ""
    cancelled_by: int | None = None
    used_mib: int | None = None
    exit_code: int | None = None
    problem: str = ""
    result: Result | None = None
    place: Place = field(default_factory=Place)
    log: str = ""
    around: str = ""
    asked: dict[str, Any] = field(default_factory=dict)
    attempts_asked: int = 1
    run_id: str = ""
    is_distributed: bool = False

    @property
    def error(self) -> Failure | None:
        return self.result.error if self.result is not None else None

    def asked_number(self, name: str) -> int:
        """Of `asked`; 0 where it is not there."""
        value = self.asked.get(name)
        return value if isinstance(value, int) else 0


def with_accounting(case: Case, rows: Iterable[AccountingRecord]) -> Case:
    """What sacct says, of the job and of its steps."""
    rows = list(rows)
    job = next((row for row in rows if not row.step), None)
    if job is None:
        return case
    by = job.state_words.partition(" by ")[2].strip()
    return replace(
        case,
        slurm=job.state.name,
        slurm_code=(job.exit_code, job.signal),
        cancelled_by=int(by) if by.isascii() and by.isdigit() else None,
        used_mib=max((row.max_rss_mib for row in rows if row.max_rss_mib), default=None),
    )


def with_logs(case: Case, attempt: AttemptFolder | None, job_log: Path | None) -> Case:
    """The ends of the logs, `TAIL` bytes of all together."""
    main, other = (TAIL * part // whole for part, whole in _SHARES)
    around = [tail(job_log, other)] if job_log is not None else []
    if attempt is None:
        return replace(case, around="\n".join(around))
    around.append(tail(attempt.kernel_log, other))
    ranks = _rank_logs(attempt.run_log.parent)
    around += [tail(path, other // len(ranks), marked=number) for number, path in ranks]
    return replace(case, log=tail(attempt.run_log, main), around="\n".join(around))


def _rank_logs(folder: Path) -> list[tuple[int, Path]]:
    """Of the 16 ranks that wrote first: who ended first is among them."""
    found = []
    with suppress(OSError):
        for path in folder.iterdir():
            number = path.name.removeprefix("rank-").removesuffix(".log")
            if path.name.startswith("rank-") and number.isascii() and number.isdigit():
                found.append((path.stat().st_mtime_ns, int(number), path))
    return [(number, path) for _, number, path in sorted(found)[:16]]


def tail(path: Path, limit: int, marked: int | None = None) -> str:
    """The last bytes of a file as whole lines; empty when it cannot be read. `marked`: each line says its rank, as
    torch does it."""
    try:
        with path.open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(max(0, size - limit))
            data = stream.read(limit)
    except OSError:
        return ""
    if size > limit:
        data = data.partition(b"\n")[2]
    text = data.decode("utf-8", "replace")
    if marked is None:
        return text
    return "\n".join(line if line.startswith("[rank") else f"[rank{marked}]: {line}" for line in text.splitlines())
