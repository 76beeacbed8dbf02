"""``sbatch --test-only`` as the user: when a job would start. Each question uses up a job number, so they are rationed,
kept for half a minute, and shared by whoever asks the same at the same moment."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from siflab.config import Resources
from siflab.errors import FieldError, SlurmUnreachable
from siflab.slurm.answers import parse_estimate, sbatch_error
from siflab.slurm.execute import PosixUser, Slurm, require_reachable
from siflab.text import Text
from siflab_spawner.page.budget import Budget

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

KEPT = 30.0  # seconds
_TIME_LIMIT = 20.0
_SCRIPT = "#!/bin/sh\n"


class OverBudget(Exception):
    """It may be asked again in `retry_after` seconds."""

    def __init__(self, retry_after: float) -> None:
        super().__init__(f"{retry_after:.1f} s")
        self.retry_after = retry_after


@dataclass(frozen=True)
class Said:
    """`start` where Slurm would take the job and says when, `error` where it would not."""

    start: datetime | None
    error: FieldError | None = None


class StartEstimates:
    """One for each cluster of a Hub."""

    def __init__(self, slurm: Slurm, budget: Budget, clock: Callable[[], float] = time.monotonic) -> None:
        self.slurm, self.budget, self._clock = slurm, budget, clock
        self.questions = 0
        self._kept: dict[tuple[str, ...], tuple[float, Said]] = {}
        self._flights: dict[tuple[str, ...], asyncio.Task[Said]] = {}

    async def ask(self, user: PosixUser, resources: Resources) -> tuple[Said, bool]:
        """The answer, and whether it was there already. Raises OverBudget, SlurmUnreachable."""
        key = (user.name, *resources.sbatch_options())
        at, said = self._kept.get(key, (float("-inf"), None))
        if said is not None and self._clock() - at < KEPT:
            return said, True
        shared = key in self._flights
        if not shared:
            wait = self.budget.take(user.name)
            if wait:
                raise OverBudget(wait)
            self._flights[key] = asyncio.ensure_future(self._question(key, user))
        return await asyncio.shield(self._flights[key]), shared

    async def _question(self, key: tuple[str, ...], user: PosixUser) -> Said:
        self.questions += 1
        try:
            argv = ["sbatch", "--test-only", "--no-requeue", *key[1:]]
            done = await self.slurm.arun(argv, user=user, stdin=_SCRIPT, cwd="/", timeout=_TIME_LIMIT)
            estimate = parse_estimate(done.stderr)
            if estimate is not None:
                said = Said(estimate.start)
            else:
                require_reachable(done)
                if done.ok:
                    raise SlurmUnreachable(
                        Text("Slurm did not say when it would start.", "Slurm 没有给出预计开始时间。")
                    )
                field, message = sbatch_error(done.stderr)
                said = Said(None, FieldError(field, "slurm-refused", message))
        finally:
            del self._flights[key]
        now = self._clock()
        self._kept = {one: kept for one, kept in self._kept.items() if now - kept[0] < KEPT}
        self._kept[key] = (now, said)
        return said


_budget = Budget()
_all: "dict[tuple[Slurm, asyncio.AbstractEventLoop], StartEstimates]" = {}


def estimates_of(spawner: "SingularitySlurmSpawner", slurm: Slurm) -> StartEstimates:
    """With the one budget of the Hub, whatever the number of its clusters."""
    key = (slurm, asyncio.get_running_loop())
    if key not in _all:
        _all[key] = StartEstimates(slurm, _budget)
    return _all[key]
