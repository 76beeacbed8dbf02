"""Being asked to stop: by scancel (SIGTERM), by the warning before the time limit (SIGUSR2), from a terminal
(SIGINT)."""

from __future__ import annotations

import asyncio
import signal
from types import FrameType

GRACE = {signal.SIGTERM: 4.0, signal.SIGINT: 4.0, signal.SIGHUP: 4.0, signal.SIGUSR1: 45.0, signal.SIGUSR2: 45.0}
"""Seconds that a cell gets to end by itself, if the notebook asks `checkpoint.stop_requested`; else it is interrupted
at once. SIGKILL follows a scancel after slurm.conf's KillWait, 30 s by default; a warning comes earlier."""
INTERRUPT_WAIT = 3.0
"""Seconds that an interrupted cell gets to end."""


class StopRequest:
    """Notes the first signal. Works before there is an event loop: importing nbclient takes long enough to be hit
    in."""

    def __init__(self) -> None:
        self.signal: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._event: asyncio.Event | None = None

    def listen(self) -> None:
        for number in GRACE:
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.signal is None:
            self.signal = number
            if self._loop is not None and self._event is not None and not self._loop.is_closed():
                self._loop.call_soon_threadsafe(self._event.set)

    async def wait(self) -> int:
        """The signal, as soon as there is one."""
        self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()
        if self.signal is not None:
            self._event.set()
        await self._event.wait()
        assert self.signal is not None
        return self.signal

    @property
    def grace(self) -> float:
        return GRACE.get(signal.Signals(self.signal), 0.0) if self.signal is not None else 0.0
