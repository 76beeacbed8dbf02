"""A session whose job says that its server ended: its route goes at once, the words follow when Slurm confirms it.

JupyterHub polls a server, and when it is gone takes away its route and stops it. So `poll` believes the job at first,
and from then on Slurm alone.
"""

import asyncio
import time
from typing import TYPE_CHECKING

from siflab_spawner.notices import leave_notice
from siflab_spawner.watch.moved import moved_words, was_moved
from siflab_spawner.watch.outcome import in_words

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_ANSWER = 4.0  # seconds until the job is answered, route or not: it holds its port for 5 (siflab.node.shim)
_OWN_END = 45.0  # seconds that a job is given to end by itself: the shim gives its server 25 after TERM
_LOOK = 0.05  # seconds between two looks at what JupyterHub has no event for

_running: set[asyncio.Task[None]] = set()


async def take_route_away(spawner: "SingularitySlurmSpawner") -> None:
    """In JupyterHub's own way. Returns when the route is gone, or after `_ANSWER` seconds."""
    task = asyncio.ensure_future(_notify(spawner))
    _running.add(task)
    task.add_done_callback(_running.discard)
    until = time.monotonic() + _ANSWER
    while not spawner.owner._stop_pending and not task.done() and time.monotonic() < until:
        seen = spawner.bell.count
        if not spawner.owner._stop_pending:
            await spawner.bell.wait(seen, min(1.0, until - time.monotonic()))


async def _notify(spawner: "SingularitySlurmSpawner") -> None:
    owner = spawner.owner
    while owner.pending in ("spawn", "check"):  # noqa: ASYNC110 (the route is made at the end of it)
        await asyncio.sleep(_LOOK)
    if owner._poll_callback is not None:
        await owner.poll_and_notify()
    spawner.bell.ring()


async def ended_by_itself(spawner: "SingularitySlurmSpawner") -> bool:
    """Slurm confirms the end that the job told of; the person is told why. False when it does not within a time, or
    when the job was put back into the queue: it must be cancelled."""
    job_id = spawner.session.job_id
    spawner.follow(starting=True)
    until = time.monotonic() + _OWN_END
    while time.monotonic() < until:
        seen = spawner.bell.count
        reading = spawner.watcher.reading(job_id)
        moved = was_moved(spawner, reading)
        if moved or reading.outcome is not None:
            words = moved_words(job_id) if moved or reading.outcome is None else in_words(reading.outcome)
            spawner.log.info("siflab: %s: %s", spawner._log_name, words.en)
            leave_notice(spawner.user.name, spawner.name, words)
            return reading.outcome is not None
        await spawner.bell.wait(seen, max(0.0, until - time.monotonic()))
    return False
