"""How often something dear may be asked: so many at once, so many a second after that."""

import time
from collections.abc import Callable


class Bucket:
    """`burst` at once, then `rate` a second. `clock` counts seconds."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._at = float(burst), clock()

    def wait(self) -> float:
        """Seconds until one may be taken; 0 now."""
        now = self._clock()
        self._left = min(float(self._burst), self._left + (now - self._at) * self._rate)
        self._at = now
        return 0.0 if self._left >= 1 else (1 - self._left) / self._rate

    def take(self) -> None:
        """After `wait` said 0."""
        self._left -= 1

    @property
    def full(self) -> bool:
        return self.wait() == 0 and self._left >= self._burst


class Budget:
    """One bucket for all, and one for each person, so that nobody takes what is everybody's."""

    def __init__(
        self,
        all_rate: float = 2.0,
        all_burst: int = 10,
        one_rate: float = 0.5,
        one_burst: int = 6,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._everyone = Bucket(all_rate, all_burst, clock)
        self._one = (one_rate, one_burst, clock)
        self._people: dict[str, Bucket] = {}

    def take(self, person: str) -> float:
        """0 and it is taken, or the seconds to wait and nothing is."""
        bucket = self._people.setdefault(person, Bucket(*self._one))
        wait = max(self._everyone.wait(), bucket.wait())
        if wait == 0:
            self._everyone.take()
            bucket.take()
        if len(self._people) > 1000:
            self._people = {name: one for name, one in self._people.items() if not one.full}
        return wait
