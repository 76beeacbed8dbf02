"""Being asked to stop: by scancel (SIGTERM), by the warning before the time limit (the request says which signal,
SIGUSR2 by default), from a terminal (SIGINT)."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Mapping
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
SHORT = 4.0
"""Seconds that a cell gets to end by itself after another signal than the warning: SIGKILL follows a scancel after
slurm.conf's KillWait, 30 s by default."""
SHARE = 0.75
"""Of the time between the warning and the time limit."""
WARNING_SECONDS = 60.0
"""Between the warning and the time limit, where request.json does not say."""
INTERRUPT_WAIT = 3.0
"""Seconds that an interrupted cell gets to end after another signal than the warning."""


class StopRequest:
    """Notes the first signal, and that another came after a warning. Works before there is an event loop: importing
    nbclient takes long enough to be hit in."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self.warning: int = signal.SIGUSR2
        self.warning_seconds = WARNING_SECONDS
        self.hurried = False
        """A signal that is not the warning came: there is little time, whatever came first."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._first: asyncio.Event | None = None
        self._hurry: asyncio.Event | None = None

    def listen(self) -> None:
        for number in SIGNALS:
            signal.signal(number, self._on_signal)

    def expect(self, request: Mapping[str, Any]) -> None:
        """What request.json says of the warning: `signal` (a name without SIG) and `warning_seconds`."""
        named = getattr(signal, f"SIG{request.get('signal') or 'USR2'}", None)
        if named in SIGNALS:
            self.warning = named
        seconds = request.get("warning_seconds")
        if isinstance(seconds, (int, float)) and seconds > 0:
            self.warning_seconds = float(seconds)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        first = self.signal is None
        if first:
            self.signal = number
        self.hurried = self.hurried or number != self.warning
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        if self._first is not None and self.signal is not None:
            self._first.set()
        if self._hurry is not None and self.hurried:
            self._hurry.set()

    async def wait(self) -> int:
        """The signal, as soon as there is one."""
        self._loop, self._first, self._hurry = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()
        self._wake()
        await self._first.wait()
        assert self.signal is not None
        return self.signal

    async def wait_for(self, task: asyncio.Task[Any], share: float = 1.0) -> bool:
        """Whether `task` ends in `share` of the grace; a second signal that is not the warning shortens it."""
        hurry = asyncio.create_task(self._hurry.wait()) if self._hurry is not None and not self.hurried else None
        await asyncio.wait({task, *([hurry] if hurry else [])}, timeout=self.grace * share,
                           return_when=asyncio.FIRST_COMPLETED)  # fmt: skip
        if hurry is not None:
            hurry.cancel()
            if not task.done() and self.hurried:
                await asyncio.wait({task}, timeout=self.grace * share)
        return task.done()

    @property
    def warned(self) -> bool:
        """The time limit is near, and nobody cancelled the run."""
        return self.signal == self.warning

    @property
    def grace(self) -> float:
        """Seconds for a notebook to end its cell by itself, and save, counted from the signal."""
        return SHORT if self.hurried or self.signal is None else SHARE * self.warning_seconds
