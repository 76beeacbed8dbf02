"""What Slurm says, kept for everyone: asked in the background at an interval, only while somebody looks."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

from siflab.errors import SiflabError
from siflab.text import Text

T = TypeVar("T")
_COSTS = 20  # the interval is never shorter than so many times what an answer took
_LONGEST = 120.0  # seconds to which failures stretch the interval
_NO_ANSWER = Text("Slurm gave no answer that can be read.", "Slurm 没有给出可以识别的回答。")


class Cached(Generic[T]):
    """One answer. Whoever looks gets the last one at once, however old; `interval` is in seconds.

    One question at a time. When a question fails the last answer stays, the interval doubles, and `trouble` says why.
    """

    def __init__(
        self,
        fetch: Callable[[], Awaitable[T]],
        interval: float,
        log: logging.Logger,
        name: str,
        keep: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.value: T | None = None
        self.trouble: Text | None = None
        self.questions = 0
        self._fetch, self._base, self._log, self._name, self._clock = fetch, interval, log, name, clock
        self._keep = max(keep, 2 * interval)
        self._taken: float | None = None
        self._took, self._failures = 0.0, 0
        self._looked, self._asked_at = clock(), float("-inf")
        self._loop_task: asyncio.Task[None] | None = None
        self._flight: asyncio.Task[None] | None = None

    @property
    def age(self) -> float | None:
        """Seconds since the answer that is there."""
        return None if self._taken is None else self._clock() - self._taken

    @property
    def failing(self) -> bool:
        return self._failures > 0

    def interval(self) -> float:
        base = max(self._base, _COSTS * self._took)
        return min(base * float(2 ** min(self._failures, 10)), max(_LONGEST, base))

    def look(self) -> T | None:
        """The answer that is there. It is kept fresh from here on for a while."""
        self._looked = self._clock()
        if self._loop_task is None or self._loop_task.done():
            self._loop_task = asyncio.ensure_future(self._run())
        return self.value

    async def at_least(self, max_age: float, patience: float) -> T | None:
        """An answer not older than `max_age` if one comes within `patience` seconds, else what is there. What failed
        just now is not asked again before its time."""
        self.look()
        age = self.age
        if (age is None or age > max_age) and (self._due() or self._flight is not None):
            await asyncio.wait([self._ask()], timeout=patience)
        return self.value

    def _due(self) -> bool:
        """It may be asked again without asking too often."""
        since = self._clock() - self._asked_at
        return since >= (self.interval() if self.failing else max(1.0, _COSTS * self._took))

    def _ask(self) -> "asyncio.Task[None]":
        if self._flight is None:
            self._flight = asyncio.ensure_future(self._question())
        return self._flight

    async def _run(self) -> None:
        while True:
            await self._ask()
            await asyncio.sleep(self.interval())
            if self._clock() - self._looked > self._keep:
                return

    async def _question(self) -> None:
        self._asked_at = begun = self._clock()
        self.questions += 1
        trouble: Text | None = None
        try:
            self.value = await self._fetch()
            self._taken = self._clock()
        except SiflabError as error:
            trouble = error.message
        except Exception:  # what keeps the pages fresh must outlive whatever an answer holds
            self._log.exception("siflab: %s could not be read", self._name)
            trouble = _NO_ANSWER
        finally:
            self._flight = None
        self._took = self._clock() - begun
        if trouble is not None and (self.trouble is None or trouble.en != self.trouble.en):
            self._log.warning("siflab: %s is not known anew: %s", self._name, trouble.en)
        self._failures = self._failures + 1 if trouble is not None else 0
        self.trouble = trouble
