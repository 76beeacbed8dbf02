"""Being asked to stop, in a rank: by a thread, since the main thread may be blocked in a collective for ever."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any

from . import stopping
from .attempt import AttemptFolder
from .signals import INTERRUPT_WAIT, SIGNALS, StopRequest


class StopWatch:
    """`signal` is the first that came. Cells that look at `checkpoint.should_stop`, and hooks, get the grace to end;
    others are interrupted; what cannot be interrupted is left by `forced`, which does not return."""

    def __init__(self, folder: AttemptFolder, request: Mapping[str, Any], saves: Callable[[], None]) -> None:
        self._folder, self._saves = folder, saves
        self._request = StopRequest()
        self._request.expect(request)
        self._ended, self._hurry = threading.Event(), threading.Event()
        self.forced: Callable[[], None] = lambda: None
        self._read, write = os.pipe()
        os.set_blocking(write, False)
        for number in SIGNALS:
            if number != signal.SIGINT:  # which is how the main thread is interrupted
                signal.signal(number, _nothing)
        signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        os.register_at_fork(after_in_child=_as_before)
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def signal(self) -> int | None:
        """The first that came, here or elsewhere: its node may have been quicker, or another one."""
        return stopping.asked_by(self._folder) if self._request.signal is None else self._request.signal

    @property
    def warned(self) -> bool:
        return self.signal == self._request.warning

    def ends(self) -> None:
        """The cells have ended."""
        self._ended.set()

    def _listen(self) -> None:
        while data := os.read(self._read, 1):
            number = data[0]
            first = self._request.signal is None
            if number not in SIGNALS or (number == signal.SIGINT and not first):
                continue
            self._request._on_signal(number, None)
            if self._request.hurried:
                self._hurry.set()
            if first:
                threading.Thread(target=self._stop, daemon=True).start()

    def _stop(self) -> None:
        if stopping.asked_by(self._folder) is None:
            stopping.ask(self._folder, self._request.signal or 0)
        self._saves()
        heeds = self._folder.heeds_stop.exists() or stopping.HOOK in stopping.answers(self._folder)
        if heeds and self._waited(0.7):
            return
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        if not self._ended.wait(INTERRUPT_WAIT):
            self.forced()

    def _waited(self, share: float) -> bool:
        """Whether the cells ended in their part of the grace, which a second signal shortens."""
        waiting = self._request.grace * share
        step = 0.05
        while waiting > 0 and not self._ended.wait(step):
            waiting -= step
            if self._hurry.is_set():
                waiting = min(waiting, self._request.grace * share)
        return self._ended.is_set()


def _as_before() -> None:
    """In a child by fork, such as a DataLoader's worker, whose parent ends it by SIGTERM: no stop of the run."""
    signal.set_wakeup_fd(-1)
    for number in SIGNALS:
        if signal.getsignal(number) is _nothing:
            signal.signal(number, signal.SIG_DFL)


def _nothing(number: int, frame: object) -> None:
    """A handler, so that the signal does not end the process; the thread has heard of it."""
