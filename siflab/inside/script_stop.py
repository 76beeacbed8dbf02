"""A script that is asked to stop: its own handlers come first; one that has none may ask `checkpoint.should_stop`, or
have given `checkpoint.on_stop` a function, as in a notebook."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from . import stopping
from .attempt import AttemptFolder
from .outcome import COMPLETED, Outcome, stopped
from .ranks import says_peer_gone
from .signals import INTERRUPT_WAIT, SHORT, StopRequest


class ScriptStop:
    """From now on the warning is no end of this process, and SIGTERM only of a script that knows of neither."""

    def __init__(self, folder: AttemptFolder, request: Mapping[str, Any]) -> None:
        self._folder, self._owner = folder, os.getpid()
        expected = StopRequest()
        expected.expect(request)
        self._warning = expected.warning
        for number in {self._warning, signal.SIGTERM}:
            signal.signal(number, self._on_signal)
        os.register_at_fork(after_in_child=self._as_before)

    def judged(self, outcome: Outcome, error: BaseException | None) -> Outcome:
        """`outcome`, or that the script stopped because it was asked to."""
        number = stopping.asked_by(self._folder)
        if number is None:
            return outcome
        number = number or self._warning
        said = stopping.answers(self._folder)
        if stopping.HOOK in said and (outcome is not COMPLETED or stopping.SEEN in said):
            from . import checkpoint

            checkpoint.run_stop_hooks()
            said = stopping.answers(self._folder)
        heard = stopping.SEEN in said or stopping.HOOK in said or self._has_its_own(number)
        if error is None or isinstance(error, SystemExit):
            ended = heard
        else:
            ended = isinstance(error, KeyboardInterrupt) or says_peer_gone(type(error).__name__, str(error))
        if not ended:
            return outcome
        if self._saved_since():
            stopping.add_answer(self._folder, stopping.SAVED)
        saved = stopping.SAVED in stopping.answers(self._folder)
        return stopped(None, number, number == self._warning, saved, has_cells=False)

    def _on_signal(self, number: int, frame: object) -> None:
        if stopping.asked_by(self._folder) is None:
            stopping.ask(self._folder, number)
        asks, hooks = self._folder.heeds_stop.exists(), stopping.HOOK in stopping.answers(self._folder)
        if number == signal.SIGTERM:
            if asks or hooks:
                last = threading.Timer(SHORT + INTERRUPT_WAIT, _die, [number])
                last.daemon = True
                last.start()
            else:
                _die(number)
        if hooks and not asks:
            signal.raise_signal(signal.SIGINT)

    def _has_its_own(self, number: int) -> bool:
        return signal.getsignal(number) not in (self._on_signal, signal.SIG_DFL, signal.SIG_IGN, None)

    def _saved_since(self) -> bool:
        """Whether anything in $CHECKPOINT_DIR is younger than the request to stop."""
        with suppress(OSError):
            asked = self._folder.stop.stat().st_mtime
            return any(path.stat().st_mtime >= asked for path in self._folder.checkpoints.iterdir())
        return False

    def _as_before(self) -> None:
        """In a child by fork, such as a DataLoader's worker, whose parent ends it by SIGTERM."""
        for number in {self._warning, signal.SIGTERM}:
            if signal.getsignal(number) == self._on_signal:
                signal.signal(number, signal.SIG_DFL)


def _die(number: int) -> None:
    """As the signal does by default."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    else:
        os._exit(128 + number)
