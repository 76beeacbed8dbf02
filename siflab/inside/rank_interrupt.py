"""KeyboardInterrupt for the code of a cell, and for that alone: amid our own lines it would tear what they write."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any


class Interrupt:
    """What SIGINT does in the main thread. `in_cell` is set by who runs the cells."""

    def __init__(self) -> None:
        self.in_cell = False
        self._ours = 0
        self._late = False
        signal.signal(signal.SIGINT, self._on_signal)  # what a shell starts in the background ignores it

    def whole(self, send: Callable[[str, dict[str, Any]], None]) -> Callable[[str, dict[str, Any]], None]:
        """`send`, which a print of the cell calls, with an interrupt only after it."""
        main = threading.main_thread()

        def send_whole(kind: str, content: dict[str, Any]) -> None:
            if threading.current_thread() is not main:
                send(kind, content)
                return
            self._ours += 1
            try:
                send(kind, content)
            finally:
                self._ours -= 1
            if self._late and not self._ours:
                self._late = False
                if self.in_cell:
                    raise KeyboardInterrupt

        return send_whole

    def _on_signal(self, number: int, frame: object) -> None:
        """Raises, as Python's own does; nothing else ends a cell in the process that also runs this."""
        __tracebackhide__ = True
        if self._ours:
            self._late = True
        elif self.in_cell:
            raise KeyboardInterrupt
