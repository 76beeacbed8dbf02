"""A session's job that was requeued: its server is gone, and another attempt would be no session of anybody's.

Sessions are submitted --no-requeue, so somebody did it by hand (``scontrol requeue``).
"""

from typing import TYPE_CHECKING

from siflab.text import Text
from siflab_spawner.watch.watcher import Reading

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


def was_moved(spawner: "SingularitySlurmSpawner", reading: Reading) -> bool:
    """Whether the job of a server that was ready is in the queue, or ran again since: it began at another time."""
    if reading.kind == "pending":
        return True
    if reading.kind not in ("running", "ended") or reading.record is None or reading.record.start is None:
        return False
    started = reading.record.start.timestamp()
    if not spawner.session.started_at and reading.kind == "running":
        spawner.session.started_at = started
        spawner.persist()
    return started != (spawner.session.started_at or started)


def moved_words(job_id: str) -> Text:
    return Text(
        f"Job {job_id} was put back into the queue by an administrator, which ends the session. Start again.",
        f"作业 {job_id} 被管理员重新排队，会话因此结束。请重新启动。",
    )
