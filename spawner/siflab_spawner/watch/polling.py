"""Is the session alive? Answered from the watcher's last reading; only proof ends a session."""

import asyncio
from typing import TYPE_CHECKING

from siflab_spawner.lifetime.stopping import stop_job
from siflab_spawner.notices import leave_notice
from siflab_spawner.start import adoption
from siflab_spawner.watch.moved import moved_words, was_moved
from siflab_spawner.watch.outcome import in_words

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


async def poll_session(spawner: "SingularitySlurmSpawner") -> int | None:
    """None while it lives or nothing is known against it, else JupyterHub's exit status."""
    if adoption.waits(spawner):
        return 1
    if spawner.submission is not None and not spawner.submission.done():
        return None
    session = spawner.session
    if not session.submit_id:
        return 0
    checked = spawner.owner._check_pending and not spawner.owner._stop_pending
    if checked and session.phase != "ready":
        return await adoption.poll_at_start_up(spawner)
    if not session.job_id:
        return 0
    if session.ended_at:  # its job says so: see told_end.py
        if not spawner.owner._stop_pending:
            return session.exit_code
        spawner.bell.ring()  # its route is gone
    spawner.follow()
    reading = await spawner.watcher.known(session.job_id)
    moved = session.phase == "ready" and was_moved(spawner, reading)
    if reading.kind == "ended" and reading.outcome is not None:
        words = moved_words(session.job_id) if moved else in_words(reading.outcome)
        spawner.log.info("siflab: %s: %s", spawner._log_name, words.en)
        if session.phase == "ready" and (session.ended_at or not spawner.owner._stop_pending):
            leave_notice(spawner.user.name, spawner.name, words)
        return reading.outcome.hub_status
    return await _end_moved(spawner) if moved else None


async def _end_moved(spawner: "SingularitySlurmSpawner") -> int:
    """The job was requeued after its server ran: the server is gone and another node would be in the route. Sessions
    are submitted --no-requeue, so somebody did it by hand; it ends, with a message."""
    words = moved_words(spawner.session.job_id)
    spawner.log.warning("siflab: %s: %s", spawner._log_name, words.en)
    leave_notice(spawner.user.name, spawner.name, words)
    task = asyncio.ensure_future(stop_job(spawner, now=True))
    await asyncio.wait([task], timeout=10)
    return 1
