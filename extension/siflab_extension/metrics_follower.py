"""What one run uses, followed by one page."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from siflab_extension.events import FollowMetrics, metrics_event
from siflab_extension.outbox import Outbox
from siflab_extension.reading import Reading

ReadMetrics = Callable[[FollowMetrics, str | None], Awaitable[dict[str, Any]]]

#: Of the time between two readings, the part that reading itself may take: a long run has megabytes of samples.
SHARE = 0.1


class MetricsFollower:
    """Sends first what there is, or what came since the wish's position, then what comes, until the run has ended.

    `pause` is the time in seconds between two readings; the runner takes a sample every five.
    """

    def __init__(self, wish: FollowMetrics, read_metrics: ReadMetrics, outbox: Outbox, pause: float) -> None:
        self._wish = wish
        self._read_metrics = read_metrics
        self._outbox = outbox
        self._pause = pause
        self.task = asyncio.create_task(self._follow())

    def serves(self, wish: FollowMetrics) -> bool:
        """Whether going on is right for a new wish of the same page: it need not say where it is, since nothing is
        sent twice to it."""
        return (wish.key, wish.attempt) == (self._wish.key, self._wish.attempt) and wish.position is not None

    def stop(self) -> None:
        """Send nothing more, not even what waits."""
        self.task.cancel()
        self._outbox.drop(("metrics", *self._wish.key))

    async def _follow(self) -> None:
        position, began, clock = self._wish.position, False, asyncio.get_running_loop().time
        reading = Reading(self._outbox, self._wish.id, "metrics", 3 * self._pause)
        while True:
            started = clock()
            piece = await reading.piece(lambda: self._read_metrics(self._wish, position))  # noqa: B023
            if piece is None:
                return
            took = clock() - started
            if not began or piece["complete"] or piece["position"] != position:
                await self._outbox.offer(("metrics", *self._wish.key), metrics_event(self._wish.id, piece))
            position, began = piece["position"], True
            if piece["complete"]:
                return
            await asyncio.sleep(max(self._pause, took / SHARE))
