"""The Hub's routes about a session's time.

``GET  /hub/api/siflab/sessions/[SERVER/]time``       when it ends, as Slurm said last; asks Slurm nothing
``GET  /hub/api/siflab/sessions/[SERVER/]extension``  what may be done now (404 where the site lets nothing be done)
``POST /hub/api/siflab/sessions/[SERVER/]extension``  ``{"seconds": 3600, "ends_at": the end that was seen or null}``

The default server has no name. ``?user=NAME`` names another's session. Who may:
- whoever holds the scope ``servers`` for it: the user's own login and tokens, and admins;
- the session itself, with its server's own token: that token is of the same user and has ``access:servers`` for this
  server alone. Others to whom the server is shared have that scope too, but are other users, and may not.
"""

import json
from datetime import datetime
from typing import Annotated, Any

from jupyterhub.apihandlers import APIHandler
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from tornado import web

from siflab.errors import FieldError, Invalid, NotFound, SiflabError
from siflab.text import Text
from siflab_spawner.hub_routes import add_routes
from siflab_spawner.lifetime import extension
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.wrapped.inner import innermost

_BASE = r"/api/siflab/sessions/(?:([^/]+)/)?"
_LIMIT = 1024  # bytes of a body
_LAST_YEAR = 9000  # of an end: with ten years more it is still a date


class ExtensionBody(BaseModel):
    """`ends_at`: ISO 8601 with offset."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    seconds: Annotated[int, Field(gt=0, le=10 * 365 * 86400)]
    ends_at: Annotated[str, Field(max_length=40)] | None = None


class _SessionHandler(APIHandler):
    async def answer(self, server: str | None, act: Any) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            result = await act(self._session(server or ""))
        except SiflabError as error:
            self.set_status(error.status)
            self.finish(json.dumps(error.as_failure()))
            return
        self.finish(json.dumps(result))

    def _session(self, server: str) -> SingularitySlurmSpawner:
        """Raises web.HTTPError(403) for another's session, whether there is one or not; NotFound."""
        if self.current_user is None:
            raise web.HTTPError(403)
        owner = self.get_argument("user", self.current_user.name)
        full = f"{owner}/{server}"
        own = getattr(self.current_user, "kind", "user") == "user" and self.current_user.name == owner
        if not self.has_scope(f"servers!server={full}") and not (
            own and self.has_scope(f"access:servers!server={full}")
        ):
            raise web.HTTPError(403, "this session belongs to somebody else")
        user = self.find_user(owner)
        if user is not None and server in user.spawners:
            spawner = innermost(user.spawners[server])
            if isinstance(spawner, SingularitySlurmSpawner) and spawner.owner.active:
                return spawner
        raise NotFound(Text("There is no such session.", "没有这个会话。"))


class TimeHandler(_SessionHandler):
    async def get(self, server: str | None) -> None:
        async def act(spawner: SingularitySlurmSpawner) -> dict[str, Any]:
            record = spawner.watcher.reading(spawner.session.job_id).record
            return {
                "job_id": spawner.session.job_id or None,
                "started_at": record.start.isoformat() if record and record.start else None,
                "ends_at": record.end.isoformat() if record and record.end else None,
                "can_extend": spawner.site.session.extension is not None,
            }

        await self.answer(server, act)


class ExtensionHandler(_SessionHandler):
    async def get(self, server: str | None) -> None:
        async def act(spawner: SingularitySlurmSpawner) -> dict[str, Any]:
            return (await extension.possible(spawner)).as_dict()

        await self.answer(server, act)

    async def post(self, server: str | None) -> None:
        async def act(spawner: SingularitySlurmSpawner) -> dict[str, Any]:
            seconds, seen = read_request(self.request.body)
            return (await extension.extend(spawner, seconds, seen, self.current_user.name)).as_dict()

        await self.answer(server, act)


def read_request(raw: bytes) -> tuple[int, datetime | None]:
    """(seconds, end that was seen). Raises Invalid."""
    try:
        if len(raw) > _LIMIT:
            raise ValueError
        body = ExtensionBody.model_validate_json(raw)
        seen = datetime.fromisoformat(body.ends_at.replace("Z", "+00:00")) if body.ends_at else None
        if seen is not None and (seen.tzinfo is None or seen.year > _LAST_YEAR):
            raise ValueError
    except (ValidationError, ValueError):
        wanted = '{"seconds": 3600, "ends_at": null}'
        raise Invalid(
            [FieldError("", "invalid", Text(f"send JSON such as {wanted}", f"请发送 JSON，例如 {wanted}"))]
        ) from None
    return body.seconds, seen


def register() -> None:
    add_routes([(_BASE + "time", TimeHandler), (_BASE + "extension", ExtensionHandler)])
