"""How far an attempt is: progress.json."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace

from .attempt import AttemptFolder, now, read_json
from .saving import replace_json

INTERVAL = 0.5
"""Seconds between two writes, but for a change of phase: a notebook of 300 quick cells must not write 300 files on
NFS."""
HEARTBEAT = 10.0
"""Seconds after which the file is written again though nothing changed, so that a reader sees that the runner
lives."""


@dataclass(frozen=True)
class Progress:
    """Cells are counted among code cells; `current_cell` from 1, `current_index` among all cells from 0."""

    cells_total: int
    cells_done: int = 0
    current_cell: int | None = None
    current_index: int | None = None
    phase: str = "starting"
    updated_at: str | None = None


def read_progress(attempt: AttemptFolder) -> Progress | None:
    """None while there is no (whole) file."""
    value = read_json(attempt.progress)
    if value is None or not isinstance(value.get("cells_total"), int):
        return None
    return Progress(**{name: value[name] for name in Progress.__dataclass_fields__ if name in value})


class ProgressWriter:
    """Keeps progress.json; raises OSError when it cannot."""

    def __init__(self, attempt: AttemptFolder, cells_total: int) -> None:
        self.attempt = attempt
        self.progress = Progress(cells_total)
        self._written: Progress | None = None
        self._at = 0.0

    def change(self, **changes: object) -> None:
        """Note a change; it is written by the next `write`."""
        self.progress = replace(self.progress, **changes)  # type: ignore[arg-type]

    def write(self) -> None:
        """Write what is due: at once when the phase changed, else at most every INTERVAL."""
        age = time.monotonic() - self._at
        same_phase = self._written is not None and self._written.phase == self.progress.phase
        if same_phase and age < (HEARTBEAT if self._written == self.progress else INTERVAL):
            return
        self._written, self._at = self.progress, time.monotonic()
        replace_json(self.attempt.progress, asdict(replace(self.progress, updated_at=now())))
