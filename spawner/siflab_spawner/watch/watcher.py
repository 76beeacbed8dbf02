"""One watcher for all sessions of a Hub: one squeue answers every poll, progress page and start.

Invariants:
- A job is `ended` only on proof: squeue shows it in a final state, or a successful squeue lacks it *and* scontrol or
  sacct confirm (see `evidence.confirm_end`), or its id is another job's now. Everything else (time-outs, munge away,
  garbage, an empty answer) leaves the last reading as it is and counts as a failed look.
- Where Slurm hides the jobs of others from the Hub's account, each user's jobs are asked for as that user, in turns.
- The interval adapts (see `pace`). Who follows a job is told by a ring of its bell when the job's reading changes.
"""

import asyncio
import logging
import os
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from siflab.errors import SiflabError
from siflab.slurm.commands import squeue_jobs
from siflab.slurm.execute import Completed, PosixUser, Slurm
from siflab.slurm.records import QueueRecord
from siflab.slurm.states import Kind
from siflab_spawner.accounts.as_user import find_user
from siflab_spawner.start.mark import ANY, Ours
from siflab_spawner.watch.closer_look import Doubt, Reading, is_surely_ours, look_closer
from siflab_spawner.watch.evidence import Hidden
from siflab_spawner.watch.pace import DEFAULT, Pace, Stopwatch, Turns
from siflab_spawner.watch.privacy import sees_all_jobs, tell_hidden
from siflab_spawner.watch.queue_answer import NoProof, read_queue

__all__ = ["Reading", "Watcher"]

_ASK_RIGHTS_AGAIN = 60.0  # seconds, where it could not be told whether Slurm hides jobs
_AT_ONCE = 4  # questions about single jobs or users at the same moment


@dataclass
class _Followed:
    ring: Callable[[], None]
    starting: bool
    ours: Ours
    changed: float
    reading: Reading = field(default_factory=Reading)
    asked: bool = False
    hurried: bool = False
    verified: datetime | None = None
    """The time of submission for which its mark was looked at."""


class Watcher:
    """The loop runs while at least one job is followed."""

    def __init__(
        self,
        slurm: Slurm,
        log: logging.Logger,
        pace: Pace = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
        find: Callable[[str], Coroutine[Any, Any, PosixUser]] = find_user,
    ) -> None:
        self.slurm, self.log, self.pace, self._clock, self._find = slurm, log, pace, clock, find
        self.failures = 0
        self.looks = 0
        self.queries: Counter[str] = Counter()
        """Commands run since the Hub began, by name."""
        self.failed: Counter[str] = Counter()
        """Answers that proved nothing, by cause (see `queue_answer`)."""
        self.took = 0.0
        """Seconds that the last query of the queue took."""
        self.last_good: float | None = None  # time.time() of the last answer that proves anything
        self.trouble = ""
        self.sees_all: bool | None = None
        """False where Slurm hides the jobs of others; None where that is not known."""
        self.is_root = os.geteuid() == 0
        self._jobs: dict[str, _Followed] = {}
        self._turns = Turns(pace.private_a_minute, clock)
        self._urgent: set[str] = set()
        self._ask_rights_at = float("-inf")
        self._gate, self._gate_closer = asyncio.Semaphore(_AT_ONCE), asyncio.Semaphore(_AT_ONCE)
        self._loop_task: asyncio.Task[None] | None = None
        self._look_task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    # ---- who follows what

    def follow(
        self, job_id: str, ring: Callable[[], None], *, starting: bool, ours: Ours = ANY, anew: bool = False
    ) -> None:
        """Have `ring` called when the reading of this job changes. `starting`: it starts or is being stopped, so it is
        looked at often. Again with another `starting`: it is ready now. `anew`: something was just done to it."""
        known = self._jobs.get(job_id)
        if known is None:
            known = self._jobs[job_id] = _Followed(ring, starting, ours, self._clock())
        elif anew or (starting and not known.starting):
            known.changed = self._clock()
        elif starting == known.starting:
            anew = False
        if anew or not known.asked or (starting and not known.starting):
            self._hurry.set()
        known.ring, known.starting, known.ours, known.hurried = ring, starting, ours, known.hurried or anew
        if self._loop_task is None or self._loop_task.done():
            self._loop_task = asyncio.ensure_future(self._run())

    def forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)

    def reading(self, job_id: str) -> Reading:
        followed = self._jobs.get(job_id)
        return followed.reading if followed else Reading()

    async def known(self, job_id: str) -> Reading:
        """The reading, after a look if there was none yet since it is followed: any number of polls share one."""
        followed = self._jobs.get(job_id)
        if followed is not None and not followed.asked and self._look_task is not None:
            await asyncio.wait([self._look_task])
        if followed is not None and not followed.asked:
            await self.look(job_id)
        return self.reading(job_id)

    # ---- for metrics

    def sessions(self) -> "Counter[Kind]":
        """How many of the jobs that are followed are pending, running, ending, ended, unknown."""
        return Counter(followed.reading.kind for followed in self._jobs.values())

    def age(self) -> float | None:
        """Seconds since the last answer that proved anything."""
        return None if self.last_good is None else max(0.0, time.time() - self.last_good)

    def interval(self) -> float:
        """Seconds until the next look."""
        now = self._clock()
        ages = (now - followed.changed for followed in self._jobs.values() if followed.starting)
        return self.pace.interval(ages, self.took, self.failures)

    # ---- looking

    async def look(self, job_id: str = "") -> None:
        """One look that begins after this call; callers of the same moment share it. With `job_id` it has that job in
        it, whoever's turn it is."""
        if job_id:
            self._urgent.add(job_id)
        if self._look_task is not None and not self._look_task.done():
            await asyncio.wait([self._look_task])
        if self._look_task is None or self._look_task.done():
            self._look_task = asyncio.ensure_future(self._look_safely())
        await asyncio.wait([self._look_task])

    async def arun(self, argv: list[str], *, user: PosixUser | None = None) -> Completed:
        """`Slurm.arun`, counted."""
        self.queries[argv[0]] += 1
        return await self.slurm.arun(argv, user=user)

    async def _run(self) -> None:
        while self._jobs:
            self._hurry.clear()
            await self.look()
            try:
                await asyncio.wait_for(self._hurry.wait(), self.interval())
            except asyncio.TimeoutError:
                pass

    async def _look_safely(self) -> None:
        try:
            await self._look()
        except Exception:  # the watcher must outlive whatever happens in one look
            self._count_failure("internal")
            self.log.exception("siflab: the look at the queue failed")

    async def _look(self) -> None:
        if self.sees_all is None and self._clock() >= self._ask_rights_at:
            self._ask_rights_at = self._clock() + _ASK_RIGHTS_AGAIN
            self._now_sees_all(await sees_all_jobs(self))
        ids = sorted(job_id for job_id, followed in self._jobs.items() if followed.reading.kind != "ended")
        urgent, self._urgent = self._urgent, set()
        if not ids:
            return
        self.looks += 1
        if self.sees_all is False:
            await self._look_in_turns(ids, urgent)
            return
        try:
            await self._ask(ids, None)
        except NoProof as error:
            self._count_failure(error.cause, str(error))
        else:
            self.failures, self.trouble = 0, ""

    async def _look_in_turns(self, ids: list[str], urgent: set[str]) -> None:
        """As the owner of each job, for those whose turn it is."""
        by_owner: dict[str, list[str]] = defaultdict(list)
        for job_id in ids:
            if self._jobs[job_id].ours.owner:
                by_owner[self._jobs[job_id].ours.owner].append(job_id)
        now = self._clock()
        wishes = {
            owner: self.pace.wish(now - self._jobs[job].changed for job in jobs if self._jobs[job].starting)
            for owner, jobs in by_owner.items()
        }
        owners = self._turns.take(wishes, [self._jobs[job].ours.owner for job in urgent if job in self._jobs])

        async def ask(owner: str) -> NoProof | None:
            async with self._gate:
                try:
                    await self._ask(by_owner[owner], await self._find(owner))
                except SiflabError as error:
                    return NoProof("not-as-user", str(error))
                except NoProof as error:
                    return error
            return None

        troubles = await asyncio.gather(*(ask(owner) for owner in owners))
        failed = [trouble for trouble in troubles if trouble is not None]
        if len(failed) < len(troubles):
            self.failures, self.trouble = 0, ""
        elif failed:
            self._count_failure(failed[0].cause, str(failed[0]))

    async def _ask(self, ids: list[str], owner: PosixUser | None) -> None:
        """One question about these jobs, as the Hub's account or as their `owner`. Raises NoProof."""
        everyone = owner is None and len(ids) >= self.pace.all_at_once
        try:
            async with Stopwatch(self._clock) as stopwatch:
                done = await self.arun(squeue_jobs(everyone=True) if everyone else squeue_jobs(ids), user=owner)
                self.took = stopwatch.seconds
            records = await read_queue(done, set(ids), everyone)
        finally:
            for job_id in ids:
                if job_id in self._jobs:
                    self._jobs[job_id].asked = True
        self.last_good = time.time()
        doubtful = []
        for job_id in ids:
            record, followed = records.get(job_id), self._jobs.get(job_id)
            if followed is None:
                continue
            sure = record is not None and is_surely_ours(followed.ours, record, followed.verified)
            if record is None or record.state.kind == "ended" or not sure:
                doubtful.append((job_id, record))
            elif record.state.kind != "unknown":
                self._set(job_id, Reading(record.state.kind, record))
        if doubtful:
            await asyncio.gather(*(self._look_closer(job_id, record, owner) for job_id, record in doubtful))

    async def _look_closer(self, job_id: str, record: QueueRecord | None, owner: PosixUser | None) -> None:
        async with self._gate_closer:
            followed = self._jobs.get(job_id)
            if followed is None:
                return
            as_owner = owner is not None
            if owner is None and followed.ours.owner:
                try:
                    owner = await self._find(followed.ours.owner)
                except SiflabError:
                    owner = None
            by_others = record is not None and record.state.name == "CANCELLED" and not followed.hurried
            last, patient = followed.reading.record, not followed.starting or by_others
            doubt = Doubt(job_id, followed.ours, record, last, owner, as_owner, self.is_root, patient)
            found = await look_closer(self, doubt)
        if isinstance(found, Hidden):
            self._now_sees_all(False)
            self._set(job_id, Reading(found.record.state.kind, found.record))
        elif found is not None:
            if record is not None:
                followed.verified = record.submitted
            self._set(job_id, found)
        elif record is None:
            self.log.warning("siflab: squeue lacks job %s, but nothing confirms that it ended", job_id)

    def _now_sees_all(self, sees_all: bool | None) -> None:
        if sees_all is False and self.sees_all is not False:
            tell_hidden(self.log, self.pace.private_a_minute)
        self.sees_all = sees_all

    def _count_failure(self, cause: str, words: str = "") -> None:
        self.failures = min(self.failures + 1, 10)
        self.failed[cause] += 1
        if words and words != self.trouble:
            self.trouble = words
            self.log.warning("siflab: squeue gave no usable answer, sessions stay as they are: %s", words)

    def _set(self, job_id: str, reading: Reading) -> None:
        followed = self._jobs.get(job_id)
        if followed is None:
            return
        before, followed.reading = followed.reading, reading
        if _shown(before) != _shown(reading):
            followed.changed = self._clock()
            followed.ring()


def _shown(reading: Reading) -> Reading:
    """The reading without what changes with every look."""
    record = reading.record and replace(reading.record, time_left=None)
    return replace(reading, record=record)
