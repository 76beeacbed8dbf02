"""What waits to be sent to one page."""

import asyncio
from collections.abc import Hashable
from typing import Any

Event = dict[str, Any]


class Outbox:
    """Events in the order of their keys' arrival, at most one for each key; for one reader.

    This bounds it without ever blocking the watcher that all pages share: a page that reads slowly gets the newest
    state of each run, not every state in between; and a log that it follows is read on only as fast as it takes it.
    """

    def __init__(self) -> None:
        self._events: dict[Hashable, Event] = {}
        self._filled = asyncio.Event()
        self._waiting: dict[Hashable, asyncio.Future[None]] = {}

    def post(self, key: Hashable, event: Event) -> None:
        """Put the event in, in the place of one with the same key that still waits."""
        self._events[key] = event
        self._filled.set()

    async def offer(self, key: Hashable, event: Event) -> None:
        """Put the event in when the one before it with the same key (of the same, only, writer) was taken."""
        if key in self._events:
            self._waiting[key] = asyncio.get_running_loop().create_future()
            await self._waiting[key]
        self.post(key, event)

    def drop(self, key: Hashable) -> None:
        """Forget an event that is no longer wanted."""
        self._events.pop(key, None)

    async def take(self) -> Event:
        """The event that waits longest; waits for one."""
        while not self._events:
            self._filled.clear()
            await self._filled.wait()
        key = next(iter(self._events))
        event = self._events.pop(key)
        waiting = self._waiting.pop(key, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        return event
