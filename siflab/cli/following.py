"""Following a run until it has ended."""

import sys
import time

from siflab.cli.terminal import harmless, in_words, pick
from siflab.errors import SlurmUnreachable
from siflab.runs import Run, Viewer, get_run, read_log

PAUSE = 1.0
"""Seconds between two looks; twice as long while nothing changes. A look costs one squeue."""


def wait_for_end(viewer: Viewer, run_id: str) -> Run:
    """The run, once it has ended. What it does meanwhile is said on a terminal."""
    status = _Line()
    pause = PAUSE
    while True:
        run = get_run(viewer, run_id)
        if run.ended:
            status.clear()
            return run
        pause = PAUSE if status.show(run) else min(2 * pause, 4 * PAUSE)
        time.sleep(pause)


def follow_log(viewer: Viewer, run_id: str, attempt: int | None = None) -> Run:
    """Print the log as it grows until the run has ended; the run then. A new attempt's log follows the one before."""
    status = _Line()
    offset, known, pause = 0, attempt, PAUSE
    while True:
        run = get_run(viewer, run_id)
        if attempt is None and known is not None and run.attempts > known:
            _print_rest(viewer, run_id, known, offset)
            offset = 0
        known = attempt or run.attempts or None
        try:
            piece = read_log(viewer, run_id, known, offset)
        except SlurmUnreachable:
            time.sleep(PAUSE)
            continue
        if piece.text:
            status.clear()
            sys.stdout.write(piece.text)
            sys.stdout.flush()
        offset, news = piece.next_offset, piece.next_offset > piece.offset
        if piece.complete:
            status.clear()
            return get_run(viewer, run_id)
        if not news:
            changed = status.show(run) if known is None else False
            pause = PAUSE if changed else min(1.5 * pause, 2 * PAUSE)
            time.sleep(pause)
        else:
            pause = PAUSE
            if piece.next_offset >= piece.size:
                time.sleep(PAUSE / 2)


def print_log(viewer: Viewer, run_id: str, attempt: int | None) -> None:
    """The log as it is."""
    offset = 0
    while True:
        piece = read_log(viewer, run_id, attempt, offset)
        sys.stdout.write(piece.text)
        if piece.next_offset >= piece.size or piece.next_offset == piece.offset:
            sys.stdout.flush()
            return
        offset = piece.next_offset


def _print_rest(viewer: Viewer, run_id: str, attempt: int, offset: int) -> None:
    while True:
        piece = read_log(viewer, run_id, attempt, offset)
        sys.stdout.write(piece.text)
        offset = piece.next_offset
        if piece.complete or piece.next_offset == piece.offset:
            return


class _Line:
    """One line on standard error that changes, where that is a terminal."""

    def __init__(self) -> None:
        self._shown = ""
        self._terminal = sys.stderr.isatty()

    def show(self, run: Run) -> bool:
        """True when it says something new."""
        text = in_words(run.state_text)
        if run.progress and run.progress["cells_total"]:
            done, total = run.progress["cells_done"], run.progress["cells_total"]
            text += pick(f", {done} of {total} cells", f"，{done}/{total} 个单元格")
        if run.reason is not None:
            text += pick(": ", "：") + in_words(run.reason)
        if text == self._shown:
            return False
        self._shown = text
        if self._terminal:
            sys.stderr.write(f"\r\x1b[K{harmless(text)}")
            sys.stderr.flush()
        return True

    def clear(self) -> None:
        if self._terminal and self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = ""
