"""How often Slurm is asked: numbers, no queries."""

import asyncio
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

_TICK = 0.02  # seconds
_BURST = 6  # a minute's turns come in this many portions at least


@dataclass(frozen=True)
class Pace:
    """Intervals in seconds.

    `starting`: while a session changes; it grows with the time since the last change (a tenth of it), up to `running`.
    `longest`: what failures may stretch it to. `all_at_once`: from so many jobs on one query for all of the cluster is
    no dearer than one for each id. `private_a_minute`: queries a minute where each user must be asked separately.
    """

    starting: float = 1.0
    running: float = 15.0
    longest: float = 60.0
    all_at_once: int = 100
    private_a_minute: int = 60
    jitter: Callable[[], float] = field(default=random.random, repr=False)

    def wish(self, since_change: Iterable[float]) -> float:
        """Seconds between two looks, by how long ago each session that starts or stops has changed."""
        return min([self.running, *(max(self.starting, age / 10) for age in since_change)])

    def interval(self, since_change: Iterable[float], took: float, failures: int) -> float:
        """Never shorter than 20 x what the last query `took`; doubled with each failure, with up to half of it more, so
        that several Hubs do not come back together."""
        base = max(self.wish(since_change), 20 * took)
        if not failures:
            return base
        return min(base * float(2 ** min(failures, 10)), max(self.longest, base)) * (1 + self.jitter() / 2)


DEFAULT = Pace()


class Stopwatch:
    """Seconds that something awaited took, less those in which the event loop did not come round: a Hub that is busy
    (for seconds when it starts) is no sign that Slurm is slow. To be used with ``async with``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._lag = clock, 0.0

    @property
    def seconds(self) -> float:
        return max(0.0, self._clock() - self._begun - self._lag)

    async def __aenter__(self) -> "Stopwatch":
        self._begun = self._clock()
        self._task = asyncio.ensure_future(self._count_lag())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _count_lag(self) -> None:
        while True:
            before = self._clock()
            await asyncio.sleep(_TICK)
            self._lag += max(0.0, self._clock() - before - _TICK)


class Turns:
    """Whom to ask next, where each user has to be asked separately: the longest overdue first, and no more than
    `a_minute` in a minute. `clock` counts seconds."""

    def __init__(self, a_minute: int, clock: Callable[[], float]) -> None:
        self._rate, self._clock = a_minute / 60, clock
        self._most = max(1.0, a_minute / _BURST)
        self._left, self._filled = self._most, clock()
        self._asked: dict[str, float] = {}

    def take(self, wishes: Mapping[str, float], urgent: Iterable[str] = ()) -> list[str]:
        """The users whose turn it is, of those in `wishes` (seconds between two questions to each). `urgent` ones are
        asked whatever the rate, and pay for it."""
        now = self._clock()
        self._left = min(self._most, self._left + (now - self._filled) * self._rate)
        self._filled = now
        first = [user for user in dict.fromkeys(urgent) if user in wishes]
        due = {user: self._asked.get(user, float("-inf")) + wish for user, wish in wishes.items() if user not in first}
        overdue = sorted((user for user in due if due[user] <= now), key=lambda user: (due[user], user))
        chosen = [*first, *overdue[: max(0, int(self._left) - len(first))]]
        self._left = max(-self._most, self._left - len(chosen))  # who is urgent without end takes no turn of others
        self._asked = {user: self._asked[user] for user in wishes if user in self._asked}
        self._asked.update(dict.fromkeys(chosen, now))
        return chosen
