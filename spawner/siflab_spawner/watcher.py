"""One watcher for all sessions of a Hub: one squeue answers every poll, progress page and start.

Invariants:
- A job is `ended` only on proof: squeue shows it in a final state, or a successful squeue lacks it *and* scontrol or
  sacct confirm (see `evidence.confirm_end`). Everything else (time-outs, munge away, garbage, an empty answer) leaves
  the last reading as it is and counts as a failed look.
- The interval adapts: short while a session starts, long when all run, never shorter than 20 x what the last look
  took, and doubled with each failed look.
- Who follows a job is told by a ring of its bell when the job's reading changes.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from siflab.slurm.commands import squeue_jobs
from siflab.slurm.execute import Completed, Slurm
from siflab.slurm.records import QueueRecord, Unreadable, parse_squeue
from siflab.slurm.states import Kind
from siflab_spawner.evidence import confirm_end
from siflab_spawner.outcome import Outcome

ALL_AT_ONCE = 100  # from so many jobs on, one query for all of the cluster is no dearer than one for each id
_LONGEST_INTERVAL = 60.0


@dataclass(frozen=True)
class Reading:
    """What is known of a job. `record` is the last that squeue gave; `outcome` is there when `kind` is ``ended``."""

    kind: Kind = "unknown"
    record: QueueRecord | None = None
    outcome: Outcome | None = None


@dataclass
class _Followed:
    ring: Callable[[], None]
    starting: bool
    reading: Reading


class Watcher:
    """`starting_interval` and `running_interval` in seconds. The loop runs while at least one job is followed."""

    def __init__(
        self, slurm: Slurm, log: logging.Logger, starting_interval: float = 1.0, running_interval: float = 15.0
    ) -> None:
        self.slurm, self.log = slurm, log
        self.starting_interval, self.running_interval = starting_interval, running_interval
        self.failures = 0
        self.looks = 0
        self.last_good: float | None = None  # time.time() of the last answer that proves anything
        self.trouble = ""
        self._jobs: dict[str, _Followed] = {}
        self._took = 0.0
        self._loop_task: asyncio.Task[None] | None = None
        self._look_task: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()

    def follow(self, job_id: str, ring: Callable[[], None], *, starting: bool) -> None:
        """Have `ring` called when the reading of this job changes. Again with another `starting`: it is ready now."""
        known = self._jobs.get(job_id)
        self._jobs[job_id] = _Followed(ring, starting, known.reading if known else Reading())
        if known is None or starting:
            self._hurry.set()
        if self._loop_task is None or self._loop_task.done():
            self._loop_task = asyncio.ensure_future(self._run())

    def forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)

    def reading(self, job_id: str) -> Reading:
        followed = self._jobs.get(job_id)
        return followed.reading if followed else Reading()

    async def look(self) -> None:
        """One look that begins after this call; callers of the same moment share it."""
        if self._look_task is not None and not self._look_task.done():
            await asyncio.wait([self._look_task])
        if self._look_task is None or self._look_task.done():
            self._look_task = asyncio.ensure_future(self._look_safely())
        await asyncio.wait([self._look_task])

    def interval(self) -> float:
        """Seconds until the next look."""
        starting = any(followed.starting for followed in self._jobs.values())
        base = max(self.starting_interval if starting else self.running_interval, 20 * self._took)
        return min(base * float(2**self.failures), max(_LONGEST_INTERVAL, base))

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
            self.failures = min(self.failures + 1, 10)
            self.log.exception("siflab: the look at the queue failed")

    async def _look(self) -> None:
        ids = sorted(self._jobs)
        if not ids:
            return
        everyone = len(ids) >= ALL_AT_ONCE
        begun = time.monotonic()
        done = await self.slurm.arun(squeue_jobs(everyone=True) if everyone else squeue_jobs(ids))
        self._took = time.monotonic() - begun
        self.looks += 1
        records = self._records(done, ids)
        if records is None:
            return
        self.failures, self.trouble, self.last_good = 0, "", time.time()
        missing = []
        for job_id in ids:
            record = records.get(job_id)
            if record is None or record.state.kind == "ended":
                missing.append((job_id, record))
            elif record.state.kind != "unknown":
                self._set(job_id, Reading(record.state.kind, record))
        if missing:
            await asyncio.gather(*(self._end(job_id, record) for job_id, record in missing))

    def _records(self, done: Completed, ids: list[str]) -> dict[str, QueueRecord] | None:
        """The answer by job id; None when it proves nothing."""
        if done.returncode != 0 and "Invalid job id specified" in done.stderr and len(ids) == 1:
            return {}
        try:
            if not done.ok:
                raise Unreadable(done.stderr.strip()[:300] or f"exit code {done.returncode}")
            if "error" in done.stderr.lower():
                raise Unreadable(done.stderr.strip()[:300])
            return {record.job_id: record for record in parse_squeue(done.stdout)}
        except Unreadable as error:
            self.failures = min(self.failures + 1, 10)
            if str(error) != self.trouble:
                self.trouble = str(error)
                self.log.warning("siflab: squeue gave no usable answer, sessions stay as they are: %s", error)
            return None

    async def _end(self, job_id: str, record: QueueRecord | None) -> None:
        followed = self._jobs.get(job_id)
        if followed is None or followed.reading.kind == "ended":
            return
        outcome = await confirm_end(self.slurm, job_id, record or followed.reading.record)
        if outcome is not None:
            self._set(job_id, Reading("ended", record or followed.reading.record, outcome))
        elif record is None:
            self.log.warning("siflab: squeue lacks job %s, but nothing confirms that it ended", job_id)

    def _set(self, job_id: str, reading: Reading) -> None:
        followed = self._jobs.get(job_id)
        if followed is None:
            return
        before, followed.reading = followed.reading, reading
        if _shown(before) != _shown(reading):
            followed.ring()


def _shown(reading: Reading) -> Reading:
    """The reading without what changes with every look."""
    record = reading.record and replace(reading.record, time_left=None)
    return replace(reading, record=record)
