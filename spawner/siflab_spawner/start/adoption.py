"""A restarted Hub takes up the sessions of the one before it.

JupyterHub probes every server that it has a row for (`poll`, then its URL), and clears away what does not answer. So:
- *ready*: `poll` says that it runs, the URL is in the state: JupyterHub finds it by itself.
- *claimed, not yet ready*: its server boots with credentials that are good; `poll` waits for its report, at most the
  boot limit. If its claim was never answered, it claims again, and goes the next way.
- *intent or submitted*: `poll` says 1 and the state is kept aside through JupyterHub's clean-up; when the Hub is up the
  session is spawned again through the Hub's own code, whose `start` takes the state and submits nothing.
"""

import asyncio
import hmac
import time
from typing import TYPE_CHECKING, Any

from siflab_spawner.state import SessionState, sha256
from siflab_spawner.wrapped.inner import innermost

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_kept: dict[tuple[str, str], SessionState] = {}
_running: set[asyncio.Task[None]] = set()


def waits_for(user_name: str, server_name: str, code: str) -> bool:
    """A session of this name is kept aside, and this is its claim code: nobody else learns that there is one."""
    kept = _kept.get((user_name, server_name))
    return kept is not None and bool(kept.claim_hash) and hmac.compare_digest(sha256(code), kept.claim_hash)


def waits(spawner: "SingularitySlurmSpawner") -> bool:
    return kept_state(spawner) is not None


def kept_state(spawner: "SingularitySlurmSpawner") -> SessionState | None:
    return _kept.get((spawner.user.name, spawner.name))


def take(spawner: "SingularitySlurmSpawner") -> SessionState | None:
    """The state that was kept aside, once."""
    return _kept.pop((spawner.user.name, spawner.name), None)


async def poll_at_start_up(spawner: "SingularitySlurmSpawner") -> int | None:
    """What `poll` answers to JupyterHub's check of a session that was not ready when the Hub before this one ended."""
    if spawner.session.job_id:
        spawner.follow(starting=True)
        outcome = (await spawner.watcher.known(spawner.session.job_id)).outcome
        if outcome is not None:
            return outcome.hub_status or 1
    if spawner.session.phase == "claimed":
        spawner.claim_again = asyncio.Event()
        status = await _wait_for_report(spawner)
        if not spawner.claim_again.is_set():
            return status
    keep_aside(spawner)
    return 1


async def _wait_for_report(spawner: "SingularitySlurmSpawner") -> int | None:
    """None when it became ready, 1 when it failed, ended or has to claim again."""
    deadline = time.monotonic() + spawner.site.session.boot_limit
    spawner.follow(starting=True)
    while True:
        seen = spawner.bell.count
        if spawner.session.ready_at:
            return None
        reading = spawner.watcher.reading(spawner.session.job_id)
        if spawner.claim_again.is_set() or spawner.failure is not None or reading.kind == "ended":
            return 1
        if not await spawner.bell.wait(seen, deadline - time.monotonic()) and time.monotonic() >= deadline:
            await spawner.stop()
            return 1


def revive(user: Any, server_name: str, code: str) -> bool:
    """A job claims a session that no server row tells of: the Hub was killed again, between JupyterHub's clean-up and
    the new spawn. True when the code is right and the session is being taken up."""
    row = user.orm_spawners.get(server_name)
    session = SessionState.from_dict(row.state if row is not None else None)
    if session.phase not in ("intent", "submitted") or not hmac.compare_digest(sha256(code), session.claim_hash):
        return False
    from siflab_spawner.spawner import SingularitySlurmSpawner

    spawner = innermost(user.spawners[server_name])
    if not isinstance(spawner, SingularitySlurmSpawner) or spawner.owner.active:
        return False
    keep_aside(spawner)
    return True


def keep_aside(spawner: "SingularitySlurmSpawner") -> None:
    key = (spawner.user.name, spawner.name)
    if key in _kept:
        return
    _kept[key] = spawner.session.unclaimed()
    task = asyncio.ensure_future(_spawn_again(spawner.owner, *key))
    _running.add(task)
    task.add_done_callback(_running.discard)


async def _spawn_again(owner: Any, user_name: str, server_name: str) -> None:
    from jupyterhub.app import JupyterHub

    app, user = JupyterHub.instance(), owner.user
    state = owner.get_state()
    while app._start_future is None or owner._check_pending or owner._stop_pending:  # noqa: ASYNC110
        await asyncio.sleep(0.05)  # JupyterHub has no event for the end of its check of one server
    await app._start_future
    if (user_name, server_name) not in _kept or user.spawners[server_name].active:
        return  # somebody pressed Start before: that start has taken it
    owner.orm_spawner.state = state  # a wrapping spawner forgot it in JupyterHub's clean-up
    _drop_old_tokens(app, user, server_name)
    app.db.commit()
    try:
        await _handler(app).spawn_single_user(user, server_name)
    except Exception as error:
        app.log.warning("siflab: %s:%s could not be taken up again: %s", user_name, server_name, error)
        await _give_up(user, server_name)


async def _give_up(user: Any, server_name: str) -> None:
    """The spawn failed before `start` took the state: its job must not run on without a Hub that knows it."""

    spawner = innermost(user.spawners[server_name])
    kept = take(spawner)
    if kept is not None and kept.job_id:
        spawner.session = kept
        await spawner.stop()
        spawner.clear_state()
        spawner.persist()


def _drop_old_tokens(app: Any, user: Any, server_name: str) -> None:
    """The token of the earlier start: JupyterHub deletes one only when it knows its text, which died with the Hub."""
    from jupyterhub.utils import url_escape_path, url_path_join

    base_url = url_path_join(user.base_url, url_escape_path(server_name), "/")
    for token in list(user.orm_user.api_tokens):
        if token.note == f"Server at {base_url}":
            app.db.delete(token)


def _handler(app: Any) -> Any:
    """A handler as JupyterHub's own spawn wants one, for a request that nobody sent."""
    from jupyterhub.handlers.base import BaseHandler
    from tornado.httputil import HTTPHeaders, HTTPServerRequest

    class NoConnection:
        context = None

        def set_close_callback(self, callback: Any) -> None:
            pass

    class AdoptionHandler(BaseHandler):
        async def refresh_auth(self, user: Any, force: bool = False) -> Any:
            return user  # the session was allowed when it was submitted

    request = HTTPServerRequest(method="POST", uri="/hub/", headers=HTTPHeaders(), connection=NoConnection())  # type: ignore[arg-type]
    return AdoptionHandler(app.tornado_application, request)
