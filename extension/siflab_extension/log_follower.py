"""One log that one page follows."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from siflab_extension.events import FollowLog, log_event
from siflab_extension.outbox import Outbox
from siflab_extension.reading import Reading

ReadLog = Callable[[str, int | None, int], Awaitable[dict[str, Any]]]


class LogFollower:
    """Sends a log piece by piece, each read only when the page took the one before, until the run has ended.

    `pause` is the time in seconds between two reads; three times as long when nothing new comes or reading fails.
    """

    def __init__(self, wish: FollowLog, read_log: ReadLog, outbox: Outbox, pause: float) -> None:
        self._wish = wish
        self._read_log = read_log
        self._outbox = outbox
        self._pause = pause
        self._began: int | None = None
        self._reached = 0
        self.task = asyncio.create_task(self._follow())

    def serves(self, wish: FollowLog) -> bool:
        """Whether going on is right for a new wish of the same page.

        It is when the wish names a place that this follower has passed: the page said how far it had read while the
        next pieces were under way to it. A wish for the beginning, or for the end (a negative offset), begins anew.
        """
        if (wish.id, wish.attempt) != (self._wish.id, self._wish.attempt):
            return False
        if self._began is None:
            return wish.offset == self._wish.offset
        return self._began < wish.offset <= self._reached

    def stop(self) -> None:
        """Send nothing more, not even what waits."""
        self.task.cancel()
        self._outbox.drop(("log", self._wish.id))

    async def _follow(self) -> None:
        run_id, offset, pause = self._wish.id, self._wish.offset, self._pause
        reading = Reading(self._outbox, run_id, "log", 3 * self._pause)
        while True:
            piece = await reading.piece(lambda: self._read_log(run_id, self._wish.attempt, offset))  # noqa: B023
            if piece is None:
                return
            offset, news = piece["next_offset"], piece["next_offset"] != piece["offset"]
            if news or self._began is None or piece["complete"]:
                await self._outbox.offer(("log", run_id), log_event(run_id, piece))
                self._began = piece["offset"] if self._began is None else self._began
                self._reached = offset
            if piece["complete"]:
                return
            if not news or offset >= piece["size"]:
                pause = self._pause if news else min(1.5 * pause, 3 * self._pause)
                await asyncio.sleep(pause)
