"""One page's event stream, whatever carries it."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Protocol

from siflab.errors import SiflabError
from siflab_extension.events import PING, Event, FollowMetrics, error_event, parse_follow
from siflab_extension.log_follower import LogFollower
from siflab_extension.metrics_follower import MetricsFollower
from siflab_extension.outbox import Outbox
from siflab_extension.watcher import Watcher

Send = Callable[[Event], Awaitable[None]]


@dataclass(frozen=True)
class StreamPace:
    """Seconds: between two pings; between two reads of a log, or of metrics (see their followers)."""

    ping: float = 20.0
    log: float = 1.0
    metrics: float = 5.0


class Readers(Protocol):
    """What the engine gives of a run's files."""

    async def read_log(self, run_id: str, attempt: int | None, offset: int) -> Event: ...
    async def read_metrics(self, wish: FollowMetrics, position: str | None) -> Event: ...


class Stream:
    """Tells one page what it follows. `send` returns when the event is on its way, and so sets the speed."""

    def __init__(self, send: Send, watcher: Watcher, readers: Readers, pace: StreamPace) -> None:
        self._send = send
        self._watcher = watcher
        self._readers = readers
        self._pace = pace
        self._outbox = Outbox()
        self._follows_runs = False
        self._logs: dict[str, LogFollower] = {}
        self._metrics: dict[Hashable, MetricsFollower] = {}
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._ping())]

    def tell(self, key: Hashable, event: Event) -> None:
        """As the watcher's listener."""
        self._outbox.post(key, event)

    def receive(self, message: str | bytes) -> None:
        """Take a message from the page; one that makes no sense is answered with an `error` and changes nothing.

        Each replaces the one before; what is followed already goes on where that is meant (`LogFollower.serves`).
        """
        try:
            follow = parse_follow(message)
        except SiflabError as error:
            self._outbox.post("message", error_event(error.message))
            return
        if follow.runs and not self._follows_runs:
            self._watcher.add(self)
        elif self._follows_runs and not follow.runs:
            self._watcher.remove(self)
        self._follows_runs = follow.runs
        logs = {wish.id: wish for wish in follow.logs}
        for run_id, log in list(self._logs.items()):
            if run_id not in logs or not log.serves(logs[run_id]):
                self._logs.pop(run_id).stop()
        for run_id in logs.keys() - self._logs.keys():
            self._logs[run_id] = LogFollower(logs[run_id], self._readers.read_log, self._outbox, self._pace.log)
        metrics = {wish.key: wish for wish in follow.metrics}
        for key, one in list(self._metrics.items()):
            if key not in metrics or not one.serves(metrics[key]):
                self._metrics.pop(key).stop()
        for key in metrics.keys() - self._metrics.keys():
            wish, read = metrics[key], self._readers.read_metrics
            self._metrics[key] = MetricsFollower(wish, read, self._outbox, self._pace.metrics)

    def stop(self) -> None:
        """Tell the page nothing more; may be called twice."""
        self._watcher.remove(self)
        for task in self._tasks:
            task.cancel()
        for follower in (*self._logs.values(), *self._metrics.values()):
            follower.stop()
        self._tasks, self._logs, self._metrics = [], {}, {}

    async def _write(self) -> None:
        while True:
            await self._send(await self._outbox.take())

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._pace.ping)
            self._outbox.post("ping", PING)
