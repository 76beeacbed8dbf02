"""One page's event stream, whatever carries it."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass

from siflab.errors import SiflabError
from siflab_extension.events import PING, Event, error_event, parse_follow
from siflab_extension.log_follower import LogFollower, ReadLog
from siflab_extension.outbox import Outbox
from siflab_extension.watcher import Watcher

Send = Callable[[Event], Awaitable[None]]


@dataclass(frozen=True)
class StreamPace:
    """Seconds: between two pings; between two reads of a log (see `LogFollower`)."""

    ping: float = 20.0
    log: float = 1.0


class Stream:
    """Tells one page what it follows. `send` returns when the event is on its way, and so sets the speed."""

    def __init__(self, send: Send, watcher: Watcher, read_log: ReadLog, pace: StreamPace) -> None:
        self._send = send
        self._watcher = watcher
        self._read_log = read_log
        self._pace = pace
        self._outbox = Outbox()
        self._follows_runs = False
        self._logs: dict[str, LogFollower] = {}
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._ping())]

    def tell(self, key: Hashable, event: Event) -> None:
        """As the watcher's listener."""
        self._outbox.post(key, event)

    def receive(self, message: str | bytes) -> None:
        """Take a message from the page; one that makes no sense is answered with an `error` and changes nothing.

        Each replaces the one before; a log that is followed already goes on where that is meant (`LogFollower.serves`).
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
        wishes = {wish.id: wish for wish in follow.logs}
        for run_id, follower in list(self._logs.items()):
            if run_id not in wishes or not follower.serves(wishes[run_id]):
                self._logs.pop(run_id).stop()
        for run_id in wishes.keys() - self._logs.keys():
            self._logs[run_id] = LogFollower(wishes[run_id], self._read_log, self._outbox, self._pace.log)

    def stop(self) -> None:
        """Tell the page nothing more; may be called twice."""
        self._watcher.remove(self)
        for task in self._tasks:
            task.cancel()
        for follower in self._logs.values():
            follower.stop()
        self._tasks, self._logs = [], {}

    async def _write(self) -> None:
        while True:
            await self._send(await self._outbox.take())

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._pace.ping)
            self._outbox.post("ping", PING)
