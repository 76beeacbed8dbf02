"""The Hub's routes behind the spawn page: ``/hub/api/siflab/offer`` and ``estimate`` (docs/spawn-page.md).

The Hub's own rules hold: a cookie with the XSRF token, or an API token. ``?user=NAME`` names somebody else. Who may is
who may start that person's servers: the scope ``servers``.
"""

import json
from typing import Any

from jupyterhub.apihandlers import APIHandler
from tornado import web

from siflab.errors import NotFound, SiflabError
from siflab.text import Text
from siflab_spawner.hub_routes import add_routes
from siflab_spawner.page.estimates import estimate_for
from siflab_spawner.page.offer import offer_for
from siflab_spawner.page.options import KEYS, no_choice
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.wrapped.inner import innermost

_LIMIT = 16384  # bytes of a body


class _PageHandler(APIHandler):
    async def answer(self, act: Any) -> None:
        self.set_header("Cache-Control", "no-store")
        try:
            result = await act(self._spawner())
        except SiflabError as error:
            self.set_status(error.status)
            self.finish(json.dumps(error.as_failure()))
            return
        self.finish(json.dumps(result))

    def _spawner(self) -> SingularitySlurmSpawner:
        """Of the default server: what may be started does not depend on the server's name. Raises web.HTTPError(403)
        whether there is such a person or not; NotFound where sessions are no Siflab's."""
        if self.current_user is None:
            raise web.HTTPError(403)
        name = self.get_query_argument("user", self.current_user.name)
        if not self.has_scope(f"servers!user={name}"):
            raise web.HTTPError(403, "you may not start servers for this user")
        user = self.find_user(name)
        spawner = innermost(user.spawner) if user is not None else None
        if isinstance(spawner, SingularitySlurmSpawner) and spawner.drop_in is None:
            return spawner
        raise NotFound(Text("There is no such user, or no site.yaml.", "没有这个用户，或没有 site.yaml。"))


class OfferHandler(_PageHandler):
    async def get(self) -> None:
        selection = {key: self.get_query_argument(key) for key in KEYS if key in self.request.query_arguments}

        async def act(spawner: SingularitySlurmSpawner) -> dict[str, Any]:
            return await offer_for(spawner, selection)

        await self.answer(act)


class EstimateHandler(_PageHandler):
    async def post(self) -> None:
        async def act(spawner: SingularitySlurmSpawner) -> dict[str, Any]:
            return await estimate_for(spawner, read_choice(self.request.body))

        await self.answer(act)


def read_choice(raw: bytes) -> Any:
    """The JSON of a body; nothing is a choice without keys. Raises Invalid."""
    if not raw:
        return {}
    try:
        if len(raw) > _LIMIT:
            raise ValueError
        return json.loads(raw)
    except (ValueError, RecursionError):
        raise no_choice() from None


def register() -> None:
    add_routes([("/api/siflab/offer", OfferHandler), ("/api/siflab/estimate", EstimateHandler)])
