"""The Hub's routes for a session's job: ``/hub/api/siflab/claim``, ``ready``, ``failed`` and ``ended``; and for
administrators ``refused-claims``, what of these was refused.

The job's know no cookie and no token: the code in the body is the credential, so there is no XSRF to check. Whatever is
wrong with a request, the answer does not say whether such a user exists.
"""

import asyncio
import json
from typing import Any

from jupyterhub import orm
from jupyterhub.apihandlers import APIHandler
from jupyterhub.scopes import needs_scope

from siflab.text import Text
from siflab_spawner import metrics
from siflab_spawner.claims import claim
from siflab_spawner.claims.claim_body import read_body
from siflab_spawner.claims.one_at_a_time import one_at_a_time
from siflab_spawner.claims.port_handler import PortHandler
from siflab_spawner.claims.refusals import peer, refusals
from siflab_spawner.hub_routes import add_routes
from siflab_spawner.log_words import safe_log
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.start import adoption
from siflab_spawner.wrapped.inner import innermost

PATH = "/api/siflab"
_SLOWLY = 1.0  # seconds until one who sends refused requests without end is answered
_SLOW_AT_ONCE = 64


class _JobHandler(APIHandler):
    """What the four have in common."""

    kind: Any = ""
    known = quiet = False
    _slow = 0

    def check_xsrf_cookie(self) -> None:
        return None

    async def get_current_user(self) -> None:
        self._jupyterhub_user = None
        return None

    async def post(self) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            body = read_body(self.kind, self.request.body)
        except ValueError as error:
            await self._refused(str(error))
            self._answer(400, Text(f"bad request: {error}", f"请求有误：{error}"))
            return
        try:
            spawner = self._spawner(body.user, body.server, body.code)
            claim.check_sender(spawner, body)  # first: who has no code takes no turn of the session's own job
            async with one_at_a_time(spawner, self.kind):
                await self.act(spawner, body)
        except claim.Refused as refused:
            await self._refused(str(refused), body.user, body.server)
            self._answer(403, refused.message)
        except claim.NotYet as not_yet:
            self.log.debug("siflab: %s of %s: not yet: %s", self.kind, safe_log(body.user), not_yet)
            self._answer(409, not_yet.message)

    async def act(self, spawner: SingularitySlurmSpawner, body: Any) -> None:
        raise NotImplementedError

    def _spawner(self, user_name: str, server_name: str, code: str) -> SingularitySlurmSpawner:
        """The spawner of a session that exists. Raises Refused, or NotYet while a restarted Hub takes it up."""
        user = self._user(user_name)
        if user is None:
            raise claim.Refused("no such user", claim.BAD)
        if adoption.waits_for(user_name, server_name, code):
            raise claim.NotYet("the Hub takes the session up again", claim.WAIT)
        if server_name in user.spawners and user.spawners[server_name].active:
            spawner = innermost(user.spawners[server_name])
            if isinstance(spawner, SingularitySlurmSpawner):
                self.known = True
                return spawner
        elif adoption.revive(user, server_name, code):
            raise claim.NotYet("the Hub takes the session up again", claim.WAIT)
        raise claim.Refused("no such session", claim.BAD)

    def _user(self, name: str) -> Any:
        """As `find_user`, which would load all servers of the user from the database, for each of these requests."""
        found = self.db.query(orm.User.id).filter(orm.User.name == name).scalar()
        return None if found is None else self.users[found]

    async def _refused(self, why: str, user: str = "", server: str = "") -> None:
        metrics.REFUSED.labels(self.kind).inc()
        line = refusals.note(self.kind, peer(self.request), why, user, server, self.known)
        if line:
            self.log.warning("siflab: %s", line)
            return
        self.quiet = True
        if _JobHandler._slow < _SLOW_AT_ONCE:
            _JobHandler._slow += 1
            try:
                await asyncio.sleep(_SLOWLY)
            finally:
                _JobHandler._slow -= 1

    def _log(self) -> None:
        if not self.quiet:
            super()._log()

    def _answer(self, status: int, message: Text) -> None:
        self.set_status(status)
        self.finish(json.dumps({"message": message.as_dict()}))


class ClaimHandler(_JobHandler):
    kind = "claim"

    async def act(self, spawner: SingularitySlurmSpawner, body: Any) -> None:
        answer = await claim.claim(spawner, body)
        self.log.info("siflab: job %s of %s claimed port %d", body.job_id, spawner._log_name, body.port)
        self.finish(json.dumps(answer))


class ReadyHandler(_JobHandler):
    kind = "ready"

    async def act(self, spawner: SingularitySlurmSpawner, body: Any) -> None:
        await claim.ready(spawner, body)
        self.set_status(204)
        self.finish()


class FailedHandler(_JobHandler):
    kind = "failed"

    async def act(self, spawner: SingularitySlurmSpawner, body: Any) -> None:
        claim.failed(spawner, body)
        self.log.warning("siflab: the job of %s says why it ends: %s", spawner._log_name, safe_log(body.words))
        self.set_status(204)
        self.finish()


class EndedHandler(_JobHandler):
    kind = "ended"

    async def act(self, spawner: SingularitySlurmSpawner, body: Any) -> None:
        await claim.ended(spawner, body)
        self.set_status(204)
        self.finish()


class RefusedHandler(APIHandler):
    """For who may administrate all servers."""

    @needs_scope("admin:servers")
    def get(self) -> None:
        self.set_header("Cache-Control", "no-store")
        self.finish(json.dumps(refusals.as_dict()))


JOB_ROUTES: list[tuple[str, Any]] = [
    (f"{PATH}/{h.kind}", h) for h in (ClaimHandler, ReadyHandler, FailedHandler, EndedHandler)
]


def register() -> None:
    """Into JupyterHub's list of handlers; batchspawner's route gives way to ours."""
    add_routes([*JOB_ROUTES, (f"{PATH}/refused-claims", RefusedHandler), ("/api/batchspawner", PortHandler)])
