"""What becomes of a message of a cell: journal first, then notebook and log, or the file of a long output."""

from __future__ import annotations

from collections.abc import Mapping

from .journal import Journal, Record
from .logs import RunLog
from .notebook import joined
from .outputs import Outputs
from .spill import Spills, relative_path


class Recorder:
    """`numbers`: of the code cells, by their index among all cells."""

    def __init__(
        self, journal: Journal, outputs: Outputs, run_log: RunLog, spills: Spills, numbers: Mapping[int, int]
    ) -> None:
        self._journal, self._outputs, self._run_log = journal, outputs, run_log
        self._spills, self._numbers = spills, numbers

    def take(self, record: Record, logged: bool = True) -> None:
        """`logged`: also in the run's log."""
        outputs, index = self._outputs, record["cell"]
        if record["type"] == "stream" and outputs.is_spilled(index, record["parent"]):
            self._spills.write(self._numbers[index], joined(record["content"].get("text", "")))
            return
        self._journal.append(record)
        outputs.apply(record)
        if logged:
            self._run_log.record(record)
        if outputs.is_over_limit(index):
            number = self._numbers[index]
            self._spills.write(number, outputs.printed(index))
            outputs.apply(self._journal.mark("spill", index))
            self._run_log.line(f"…… {relative_path(number)}")
