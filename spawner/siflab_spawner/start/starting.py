"""The start of a session: prepare, submit (or take up a job that is there), and wait until its server listens."""

import asyncio
import time
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from siflab.errors import SiflabError
from siflab.slurm.execute import PosixUser
from siflab.slurm.time import format_time
from siflab.text import Text
from siflab_spawner import metrics
from siflab_spawner.accounts.as_user import find_user, run_task
from siflab_spawner.claims.claim_server import problem
from siflab_spawner.claims.nodes import server_url
from siflab_spawner.start import adoption
from siflab_spawner.start.environment import claim_url
from siflab_spawner.start.failure import StartFailed
from siflab_spawner.start.mark import session_prefix
from siflab_spawner.start.session_job import session_job
from siflab_spawner.start.submission import at_once, cancel_strays, find_late, submit
from siflab_spawner.state import SessionState
from siflab_spawner.watch import outcome

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

LOG_LIMIT = 65536  # bytes of a job's log that are looked at
_TOO_OLD = 900.0  # seconds after which an intent without a job is no longer carried out
_SLURMS_WORD = 6.0  # seconds that Slurm is given to say how a job ended that says it ends
_ENDING_LIMIT = 10.0  # seconds that a job may be COMPLETING before its start counts as failed


async def start_session(spawner: "SingularitySlurmSpawner") -> str:
    """The URL of the server. Raises StartFailed or another SiflabError. A cancelled start leaves its job to `stop`."""
    user = await find_user(spawner.user.name)
    kept = adoption.take(spawner)
    if kept is not None:
        await _take_up(spawner, user, kept)
    if not spawner.session.job_id:
        spawner.submission = asyncio.ensure_future(_submit(spawner, user))
        await asyncio.shield(spawner.submission)
    spawner.follow()
    try:
        return await _wait_until_ready(spawner)
    except StartFailed as error:
        if not error.log:
            error.log = await log_tail(spawner, user)
        raise


async def _take_up(spawner: "SingularitySlurmSpawner", user: PosixUser, kept: SessionState) -> None:
    """Go on with a job that an earlier Hub submitted; without one (it was killed before sbatch) nothing is taken up."""
    spawner.session = kept
    if not kept.job_id:
        prefix = session_prefix(spawner.site.name, spawner.user.name, spawner.name)
        found = await find_late(spawner.slurm, user, prefix, kept.submit_id, kept.intended_at)
        if found is None:
            spawner.session = SessionState()
            if time.time() - kept.intended_at > _TOO_OLD:
                raise StartFailed(
                    Text(
                        "The Hub was restarted before the job was submitted. Start again.",
                        "提交作业前 Hub 重启了。请重新启动。",
                    )
                )
            return
        kept.job_id, kept.cluster = found, spawner.slurm.cluster or ""
    spawner.persist()
    metrics.ADOPTED.inc()
    spawner.log.info("siflab: job %s of %s is taken up again", kept.job_id, spawner._log_name)


async def _submit(spawner: "SingularitySlurmSpawner", user: PosixUser) -> None:
    site, server = spawner.site, spawner.name
    trouble = problem(urlparse(claim_url(spawner)).hostname or "")
    if trouble is not None:
        raise StartFailed(trouble)
    prefix = session_prefix(site.name, spawner.user.name, server)
    async with at_once:
        job, strays = await asyncio.gather(session_job(spawner, user), cancel_strays(spawner.slurm, user, prefix))
    if strays:
        spawner.log.warning("siflab: cancelled what was left of %s: %s", spawner._log_name, ", ".join(strays))
    session = job.session
    spawner.session = session
    spawner.persist()  # the intent: from here on a Hub that is killed looks for the job
    session.job_id, session.cluster = await submit(spawner.slurm, user, job.argv, job.script, prefix, session.submit_id)
    session.log_path = job.preparation.log_path(session.job_id)
    spawner.persist()
    spawner.log.info("siflab: submitted job %s for %s", session.job_id, spawner._log_name)


async def _wait_until_ready(spawner: "SingularitySlurmSpawner") -> str:
    session, limits = spawner.session, spawner.site.session
    boots_since = ending_since = None
    while True:
        seen, now = spawner.bell.count, time.monotonic()
        if session.ready_at:
            return server_url(session.host, session.port, session.tls)
        if spawner.failure is not None:
            raise await _told_by_job(spawner)
        reading = spawner.watcher.reading(session.job_id)
        remaining = None
        if reading.kind == "ended" and reading.outcome is not None:
            raise StartFailed(_did_not_start(outcome.in_words(reading.outcome)))
        if reading.kind == "ending":
            ending_since = ending_since or now
            remaining = ending_since + _ENDING_LIMIT - now
            if remaining <= 0:
                raise StartFailed(
                    _did_not_start(Text(f"Job {session.job_id} ended.", f"作业 {session.job_id} 已结束。"))
                )
        elif reading.kind == "running":
            boots_since = boots_since or now
            remaining = boots_since + limits.boot_limit - now
            if remaining <= 0:
                raise StartFailed(_boot_limit(session.job_id, limits.boot_limit))
        elif reading.kind == "pending" and limits.queue_limit is not None:
            remaining = session.intended_at + limits.queue_limit - time.time()
            if remaining <= 0:
                raise StartFailed(_queue_limit(session.job_id, limits.queue_limit), status=503)
        await spawner.bell.wait(seen, remaining)


async def _told_by_job(spawner: "SingularitySlurmSpawner") -> StartFailed:
    """The job said why it ends. Where Slurm ended it (cancelled, time limit, memory, node) Slurm knows better: its word
    is awaited for a moment."""
    failure, job_id = spawner.failure, spawner.session.job_id
    assert failure is not None
    until = time.monotonic() + _SLURMS_WORD
    while True:
        seen, reading = spawner.bell.count, spawner.watcher.reading(job_id)
        if reading.outcome is not None or time.monotonic() >= until:
            break
        await spawner.bell.wait(seen, until - time.monotonic())
    if reading.outcome is not None and reading.outcome.state.name not in ("FAILED", "COMPLETED", "GONE"):
        return StartFailed(_did_not_start(outcome.in_words(reading.outcome)), failure.log_tail)
    return StartFailed(failure.message, failure.log_tail)


async def log_tail(spawner: "SingularitySlurmSpawner", user: PosixUser) -> str:
    """The end of the job's log, read as the user; empty when it cannot be read."""
    path = spawner.session.log_path
    if not path:
        return ""
    try:
        answer = await run_task(spawner.slurm, user, "tail", path=path, limit=LOG_LIMIT)
    except SiflabError as error:
        spawner.log.warning("siflab: no log of job %s: %s", spawner.session.job_id, error)
        return ""
    return str(answer.get("text", ""))


def _did_not_start(why: Text) -> Text:
    return Text("JupyterLab did not start.", "JupyterLab 未能启动。") + why


def _boot_limit(job_id: str, limit: int) -> Text:
    return Text(
        f"JupyterLab did not answer within {format_time(limit)} after job {job_id} began. Try again; if it happens "
        "again, tell your administrator (session.boot_limit in site.yaml).",
        f"作业 {job_id} 开始后 {format_time(limit)} 内 JupyterLab 没有响应。请重试；若再次发生请联系管理员"
        "（site.yaml 中的 session.boot_limit）。",
    )


def _queue_limit(job_id: str, limit: int) -> Text:
    return Text(
        f"Job {job_id} waited {format_time(limit)} in the queue, as long as this site allows, and was cancelled. "
        "Choose fewer resources, or try at another time.",
        f"作业 {job_id} 已排队 {format_time(limit)}，达到本站点上限，已取消。请减少资源或换个时间再试。",
    )
