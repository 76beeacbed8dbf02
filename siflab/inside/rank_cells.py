"""The cells of a notebook in the process of one rank."""

from __future__ import annotations

import os
from typing import Any

from . import stopping
from .attempt import AttemptFolder
from .notebook import SKIP_TAG, blank, read_notebook, tags
from .outcome import COMPLETED, Outcome, exited, failed, stopped
from .parameters import inject, values_of
from .rank import leave, report
from .rank_interrupt import Interrupt
from .rank_output import FirstRank, OtherRank
from .rank_shell import RankShell, flush_streams, make_shell, use_fork
from .rank_stop import StopWatch
from .ranks import says_peer_gone
from .run import begin_attempt
from .signals import StopRequest


def run_cells(folder: AttemptFolder, request: dict[str, Any], rank: int) -> Outcome:
    """Raises BadNotebook, OSError, ImportError (the image has no IPython)."""
    output: FirstRank | OtherRank
    if rank == 0:
        folder.make()
        output = FirstRank(begin_attempt(folder, StopRequest()))
    else:
        notebook = read_notebook(folder.input)
        inject(notebook, values_of(folder, request))
        blank(notebook)
        output = OtherRank(folder, rank, notebook)
    interrupt = Interrupt()
    shell = make_shell(output.message, output.descriptor, interrupt)
    use_fork()
    return _Cells(folder, request, rank, output, shell, interrupt).run()


class _Cells:
    def __init__(
        self,
        folder: AttemptFolder,
        request: dict[str, Any],
        rank: int,
        output: FirstRank | OtherRank,
        shell: RankShell,
        interrupt: Interrupt,
    ) -> None:
        self.folder, self.rank, self.output, self.shell, self.interrupt = folder, rank, output, shell, interrupt
        self.current: int | None = None
        self.stop = StopWatch(folder, request, output.saves)
        self.stop.forced = self._forced

    def run(self) -> Outcome:
        outcome = self._all()
        self.stop.ends()
        if self.stop.signal is not None and outcome.status in ("completed", "stopped"):
            outcome = self._stopped(outcome)
        self.output.settles(outcome)
        return outcome

    def _all(self) -> Outcome:
        cells = self.output.notebook["cells"]
        for index in self.output.numbers:
            if self.stop.signal is not None:
                return self._outcome_of_stop()
            if SKIP_TAG in tags(cells[index]):
                self.output.skips(index)
            elif not cells[index]["source"].strip():
                self.output.ends(index, "done")
            else:
                outcome = self._one(index, cells[index])
                if outcome is not None:
                    return outcome
        return COMPLETED

    def _one(self, index: int, cell: dict[str, Any]) -> Outcome | None:
        """None when the next cell may follow."""
        number, count = self.output.numbers[index], self.shell.execution_count
        self.current = index
        self.output.errors.clear()
        flush_streams()
        self.output.begins(index, count)
        try:
            self.interrupt.in_cell = True
            result: Any = self.shell.run_cell(cell["source"], store_history=True)  # type: ignore[no-untyped-call]
            error = result.error_before_exec or result.error_in_exec
            self.interrupt.in_cell = False
        except KeyboardInterrupt as interrupted:  # between IPython's own lines
            self.interrupt.in_cell = False
            error = interrupted
        flush_streams()
        self.current = None
        if error is not None and self.stop.signal is not None and _follows_a_stop(error):
            self.output.ends(index, "stopped")
            return self._outcome_of_stop(number)
        if error is None or ("raises-exception" in tags(cell) and not isinstance(error, SystemExit)):
            self.output.ends(index, "done")
            return None
        self.output.ends(index, "failed")
        if isinstance(error, SystemExit):
            return exited(index, number)
        shown = [{"output_type": "error", **content} for content in self.output.errors[-1:]]
        about = {"outputs": shown, "execution_count": count}
        return failed(about, index, number, type(error).__name__, str(error))

    def _outcome_of_stop(self, number: int | None = None) -> Outcome:
        saved = stopping.SAVED in stopping.answers(self.folder)
        return stopped(number, self.stop.signal or 0, self.stop.warned, saved)

    def _stopped(self, outcome: Outcome) -> Outcome:
        """The hooks that the notebook has given are called; a notebook that was done, and saw no stop, is complete."""
        said = stopping.answers(self.folder)
        if outcome.status == "completed" and stopping.SEEN not in said:
            return outcome
        if stopping.HOOK in said:
            from . import checkpoint

            checkpoint.run_stop_hooks()
        elif outcome.status == "stopped":
            return outcome
        return self._outcome_of_stop()

    def _forced(self) -> None:
        """The main thread is blocked: what there is is saved by this one."""
        flush_streams()
        index = self.current
        number = None if index is None else self.output.numbers[index]
        if index is not None:
            self.output.ends(index, "stopped")
        outcome = self._outcome_of_stop(number)
        self.output.settles(outcome)
        report(self.folder, self.rank, outcome)
        os.write(2, f"siflab: rank {self.rank} was blocked, and left\n".encode())
        leave(0)


def _follows_a_stop(error: BaseException) -> bool:
    """Another rank may have ended first."""
    return isinstance(error, KeyboardInterrupt) or says_peer_gone(type(error).__name__, str(error))
