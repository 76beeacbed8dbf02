"""One look at all runs for all pages of this server, told to each page as what has changed."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Protocol

from siflab.errors import SiflabError
from siflab.text import Text
from siflab_extension.events import Event, error_event, removed_event, run_event, slurm_event

#: The states of a run in which something may change at any moment.
ACTIVE = frozenset({"submitting", "pending", "running", "completing"})


@dataclass(frozen=True)
class Pace:
    """Seconds from the end of one look to the next: a run is active, all have ended, Slurm does not answer."""

    active: float = 2.0
    ended: float = 15.0
    failing: float = 10.0

    def until_next(self, states: set[str], healthy: bool, took: float) -> float:
        """Never shorter than the last look took, so that a slow Slurm has rest for half of the time at least."""
        pace = self.failing if not healthy else self.active if states & ACTIVE else self.ended
        return max(pace, took)


class Listener(Protocol):
    """A page. `tell` must not block; an event replaces one with the same key that was not sent yet."""

    def tell(self, key: Hashable, event: Event) -> None: ...


class Watcher:
    """Looks while somebody listens; for use in one event loop.

    A new listener is told every run and then how Slurm does (after which it knows that the list is complete); later,
    what changes. When the list itself cannot be had, an `error` says why, once for each reason.
    """

    def __init__(self, list_runs: Callable[[], Awaitable[dict[str, Any]]], pace: Pace) -> None:
        self._list_runs = list_runs
        self._pace = pace
        self._listeners: set[Listener] = set()
        self._task: asyncio.Task[None] | None = None
        self._sooner = asyncio.Event()
        self._forget()

    @property
    def looking(self) -> bool:
        return self._task is not None

    def add(self, listener: Listener) -> None:
        """Begin to tell the listener; what is known is told at once, and looked at anew if it is not fresh."""
        self._listeners.add(listener)
        for run in self._runs.values():
            listener.tell(("run", run["id"]), run_event(run))
        if self._slurm is not None:
            listener.tell("slurm", slurm_event(self._slurm))
        if self._failure is not None:
            listener.tell("failure", error_event(self._failure))
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        elif asyncio.get_running_loop().time() - self._taken_at > self._pace.active:
            self.nudge()

    def remove(self, listener: Listener) -> None:
        """Tell the listener nothing more; without any, looking stops and what was seen is forgotten."""
        self._listeners.discard(listener)
        if not self._listeners and self._task is not None:
            self._task.cancel()
            self._task = None
            self._forget()

    def nudge(self) -> None:
        """Look now: something was just done that changes the runs."""
        self._sooner.set()

    async def close(self) -> None:
        task = self._task
        for listener in list(self._listeners):
            self.remove(listener)
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    def _forget(self) -> None:
        self._runs: dict[str, Event] = {}
        self._slurm: Event | None = None
        self._failure: Text | None = None
        self._taken_at = float("-inf")

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            self._sooner.clear()
            began = clock()
            try:
                answer = await self._list_runs()
            except SiflabError as error:
                self._failed(error.message)
            else:
                self._taken_at = clock()
                self._compare({run["id"]: run for run in answer["runs"]}, answer.get("slurm") or {"reachable": True})
            healthy = self._failure is None and self._slurm is not None and bool(self._slurm["reachable"])
            pause = self._pace.until_next({run["state"] for run in self._runs.values()}, healthy, clock() - began)
            try:
                await asyncio.wait_for(self._sooner.wait(), pause)
            except asyncio.TimeoutError:
                continue

    def _compare(self, runs: dict[str, Event], slurm: Event) -> None:
        before, self._runs = self._runs, runs
        for run_id in before.keys() - runs.keys():
            self._tell(("run", run_id), removed_event(run_id))
        for run_id, run in runs.items():
            if before.get(run_id) != run:
                self._tell(("run", run_id), run_event(run))
        if slurm != self._slurm:
            self._tell("slurm", slurm_event(slurm))
        self._slurm, self._failure = slurm, None

    def _failed(self, message: Text) -> None:
        """The next success tells `slurm` again, which shows a page that the failure is over."""
        if message != self._failure:
            self._tell("failure", error_event(message))
        self._slurm, self._failure = None, message

    def _tell(self, key: Hashable, event: Event) -> None:
        for listener in self._listeners:
            listener.tell(key, event)
