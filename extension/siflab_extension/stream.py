"""One page's event stream, whatever carries it."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any

from siflab.errors import NotFound, SiflabError
from siflab_extension.events import PING, Event, Follow, FollowLog, error_event, log_event, parse_follow
from siflab_extension.outbox import Outbox
from siflab_extension.watcher import Watcher

Send = Callable[[Event], Awaitable[None]]
ReadLog = Callable[[str, int | None, int], Awaitable[dict[str, Any]]]


@dataclass(frozen=True)
class StreamPace:
    """Seconds: between two pings; between two reads of a log, at first and when nothing new comes for long."""

    ping: float = 20.0
    log: float = 1.0

    @property
    def silent_log(self) -> float:
        return 3 * self.log


class Stream:
    """Tells one page what it follows. `send` returns when the event is on its way, and so sets the speed."""

    def __init__(self, send: Send, watcher: Watcher, read_log: ReadLog, pace: StreamPace) -> None:
        self._send = send
        self._watcher = watcher
        self._read_log = read_log
        self._pace = pace
        self._outbox = Outbox()
        self._follow = Follow()
        self._logs: dict[str, asyncio.Task[None]] = {}
        self._tasks = [asyncio.create_task(self._write()), asyncio.create_task(self._ping())]

    def tell(self, key: Hashable, event: Event) -> None:
        """As the watcher's listener."""
        self._outbox.post(key, event)

    def receive(self, message: str | bytes) -> None:
        """Take a message from the page; one that makes no sense is answered with an `error` and changes nothing.

        A log that stands in it exactly as in the message before goes on; with another offset it begins there.
        """
        try:
            follow = parse_follow(message)
        except SiflabError as error:
            self._outbox.post("message", error_event(error.message))
            return
        if follow.runs and not self._follow.runs:
            self._watcher.add(self)
        elif self._follow.runs and not follow.runs:
            self._watcher.remove(self)
        for log in set(self._follow.logs) - set(follow.logs):
            self._logs.pop(log.id).cancel()
            self._outbox.drop(("log", log.id))
        for log in set(follow.logs) - set(self._follow.logs):
            self._logs[log.id] = asyncio.create_task(self._follow_log(log))
        self._follow = follow

    def stop(self) -> None:
        """Tell the page nothing more; may be called twice."""
        self._watcher.remove(self)
        for task in [*self._tasks, *self._logs.values()]:
            task.cancel()
        self._tasks, self._logs, self._follow = [], {}, Follow()

    async def _write(self) -> None:
        while True:
            await self._send(await self._outbox.take())

    async def _ping(self) -> None:
        while True:
            await asyncio.sleep(self._pace.ping)
            self._outbox.post("ping", PING)

    async def _follow_log(self, log: FollowLog) -> None:
        """Send the log piece by piece, each read only when the page took the one before, until the run has ended."""
        offset, pause, failure = log.offset, self._pace.log, None
        first = True
        while True:
            try:
                piece = await self._read_log(log.id, log.attempt, offset)
            except SiflabError as error:
                if error.message != failure:
                    self._outbox.post(("error", log.id), error_event(error.message, log.id))
                if isinstance(error, NotFound):
                    return
                failure, pause = error.message, self._pace.silent_log
                await asyncio.sleep(pause)
                continue
            failure = None
            news = piece["next_offset"] != piece["offset"]
            if news or first or piece["complete"]:
                await self._outbox.offer(("log", log.id), log_event(log.id, piece))
            if piece["complete"]:
                return
            first, offset = False, piece["next_offset"]
            if offset < piece["size"]:
                continue
            pause = self._pace.log if news else min(1.5 * pause, self._pace.silent_log)
            await asyncio.sleep(pause)
