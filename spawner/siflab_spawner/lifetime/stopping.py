"""Ending a session's job, and knowing that it is gone."""

import asyncio
import time
from typing import TYPE_CHECKING

from siflab.errors import SiflabError
from siflab.slurm.commands import scancel
from siflab_spawner.accounts.as_user import find_user
from siflab_spawner.watch.told_end import ended_by_itself

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_GONE = ("Invalid job id specified", "already completing or completed")


async def stop_job(spawner: "SingularitySlurmSpawner", now: bool = False) -> None:
    """Cancel the job: Slurm sends TERM to all of its processes and KILL after KillWait (30 s by default). Returns when
    Slurm confirms that it is gone, or with a line in the log after `spawner.stop_limit` seconds; with `now` as soon as
    Slurm took the request. While Slurm cannot be reached it goes on trying; a refusal is final."""
    if spawner.submission is not None and not spawner.submission.done():
        await asyncio.wait([spawner.submission])  # its job id must be known, or nobody could cancel it
    job_id = spawner.session.job_id
    if not job_id:
        return
    if spawner.session.ended_at and not now and await ended_by_itself(spawner):
        return
    try:
        user = await find_user(spawner.user.name)
    except SiflabError as error:  # an account that is gone must not keep its job alive: root may cancel it too
        spawner.log.warning("siflab: job %s is cancelled as the Hub's own account: %s", job_id, error)
        user = None
    if spawner.drop_in is not None:
        await spawner.slurm.arun(spawner.drop_in.term_argv(job_id), user=user)
    pause = _FIRST_PAUSE
    while True:
        argv = scancel([job_id]) if spawner.drop_in is None else spawner.drop_in.cancel_argv(job_id, user)
        done = await spawner.slurm.arun(argv, user=user)
        if done.ok or any(words in done.stderr for words in _GONE):
            break
        words = done.stderr.strip()[:300]
        if not done.unreachable:  # Slurm said no, and would say so again
            spawner.log.error("siflab: job %s cannot be cancelled, it runs on: %s", job_id, words)
            return
        spawner.log.warning("siflab: job %s could not be cancelled yet: %s", job_id, words)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)
    if now:
        return
    spawner.follow(starting=True)  # short intervals until it is gone
    until = time.monotonic() + spawner.stop_limit
    while spawner.watcher.reading(job_id).kind != "ended":
        seen = spawner.bell.count
        if not await spawner.bell.wait(seen, until - time.monotonic()) and time.monotonic() >= until:
            spawner.log.error("siflab: job %s is not gone %d s after scancel", job_id, spawner.stop_limit)
            return
    spawner.log.info("siflab: job %s of %s is gone", job_id, spawner._log_name)
