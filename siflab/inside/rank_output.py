"""Where a rank's outputs go: rank 0's into the run's notebook, journal and log; the others' into logs of their own."""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from .attempt import AttemptFolder, now
from .logs import RunLog
from .notebook import Notebook, code_numbers
from .outcome import Outcome
from .ranks import log_of
from .recording import Recorder
from .result import Words
from .run import Attempt

_TICK = 0.1
_SYNC = 2.0


class OtherRank:
    """``logs/rank-N.log``."""

    def __init__(self, folder: AttemptFolder, rank: int, notebook: Notebook) -> None:
        self.notebook, self.numbers = notebook, code_numbers(notebook)
        path = log_of(folder, rank)
        path.parent.mkdir(parents=True, exist_ok=True)
        self.descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._log = RunLog(path, len(self.numbers))
        self._lock = threading.Lock()
        self.errors: list[dict[str, Any]] = []
        threading.Thread(target=self._tick, daemon=True).start()

    def message(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "error":
            self.errors.append(content)
        with self._lock:
            self._log.record({"type": kind, "content": content})

    def begins(self, index: int, count: int) -> None:
        with self._lock:
            self._log.cell(self.numbers[index])

    def ends(self, index: int, status: str) -> None:
        return None

    def skips(self, index: int) -> None:
        return None

    def saves(self) -> None:
        return None

    def settles(self, outcome: Outcome) -> None:
        return None

    def _tick(self) -> None:
        while True:
            time.sleep(1)
            with self._lock:
                self._log.tick()


class FirstRank:
    """The run's notebook, saved as it grows by a thread, also while a cell is blocked in a collective."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt, self.notebook, self.numbers = attempt, attempt.notebook, attempt.numbers
        self.descriptor = attempt.kernel_log.descriptor
        self.errors: list[dict[str, Any]] = []
        self.warnings: list[Words] = []
        self._lock = threading.RLock()
        self._record = Recorder(attempt.journal, attempt.outputs, attempt.run_log, attempt.spills, attempt.numbers).take
        self._current: int | None = None
        self._last: int | None = None  # the cell that ran last, whose threads may still print
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True)
        attempt.kernel_log.skip()
        attempt.progress.change(phase="running")
        self._ticker.start()

    def message(self, kind: str, content: dict[str, Any]) -> None:
        if kind == "error":
            self.errors.append(content)
        with self._lock:
            if self._last is not None:
                self._take_kernel_log()  # what came before through the descriptors
                self._add(kind, content, self._last)

    def begins(self, index: int, count: int) -> None:
        with self._lock:
            self._current = self._last = index
            self.attempt.run_log.cell(self.numbers[index])
            self.attempt.progress.change(current_cell=self.numbers[index], current_index=index)
            self.attempt.outputs.apply(self.attempt.journal.mark("start", index))
            self._add("execute_input", {"execution_count": count}, index)

    def ends(self, index: int, status: str) -> None:
        with self._lock:
            self._take_kernel_log()
            self._current = None
            self._mark_done("done", index, status=status)

    def skips(self, index: int) -> None:
        with self._lock:
            self._mark_done("skip", index)

    def saves(self) -> None:
        with self._lock:
            self.attempt.saver.save()

    def settles(self, outcome: Outcome) -> None:
        self._over.set()
        with self._lock:
            self._take_kernel_log()
            _, self.warnings = self.attempt.settle(outcome)
            self.attempt.progress.change(phase="finished")
            self.attempt.write_progress()

    def _mark_done(self, kind: str, index: int, **more: Any) -> None:
        self.attempt.outputs.apply(self.attempt.journal.mark(kind, index, **more))
        if more.get("status", "done") == "done":
            self.attempt.progress.change(cells_done=self.attempt.progress.progress.cells_done + 1)

    def _add(self, kind: str, content: dict[str, Any], index: int) -> None:
        self._record({"type": kind, "cell": index, "at": now(), "parent": str(index), "content": content})

    def _take_kernel_log(self) -> None:
        """What came through the descriptors, into the cell that runs."""
        while self._current is not None and (text := self.attempt.kernel_log.read()):
            self._add("stream", {"name": "stdout", "text": text}, self._current)

    def keep(self) -> None:
        """Save what has come, as often as is worth it."""
        with self._lock:
            self._take_kernel_log()
            self.attempt.saver.save_if_due()
            self.attempt.journal.shorten_if_due(self.attempt.outputs.state, self.attempt.outputs.weight)
            self.attempt.run_log.tick()
            self.attempt.write_progress()

    def _tick(self) -> None:
        synced = time.monotonic()
        while not self._over.wait(_TICK):
            try:
                self.keep()
                if time.monotonic() - synced > _SYNC:
                    self.attempt.sync()
                    synced = time.monotonic()
            except Exception as error:
                with suppress(OSError):
                    os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, f"siflab: {error}\n".encode())
