"""In place of batchspawner's callback route, ``/hub/api/batchspawner``, which sets any attribute that a body names on
the Hub's spawner object. Spawners of batchspawner's own learn by it at which port a job's server listens; Siflab's
sessions claim instead. Here it takes one port, for the start of the very server whose token was sent.
"""

import hmac
import json
from typing import Any

from jupyterhub.apihandlers import APIHandler

from siflab_spawner.claims.refusals import peer, refusals
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.wrapped.inner import innermost

BODY_LIMIT = 1024  # bytes


class PortRefused(Exception):
    """`status` is the answer's, the words are for the Hub's log and the job's."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


def read_port(raw: bytes) -> int:
    """The port of a body ``{"port": 40000}``, and of nothing else. Raises PortRefused."""
    if len(raw) > BODY_LIMIT:
        raise PortRefused(400, f"longer than {BODY_LIMIT} bytes")
    try:
        pairs = json.loads(raw.decode("utf-8"), object_pairs_hook=list)
    except (ValueError, RecursionError):
        raise PortRefused(400, "not JSON") from None
    if not isinstance(pairs, list) or len(pairs) != 1 or not isinstance(pairs[0], tuple) or pairs[0][0] != "port":
        raise PortRefused(400, "it must have a port and nothing else")
    port = pairs[0][1]
    if type(port) is not int or not 1 <= port <= 65535:
        raise PortRefused(400, "a port is a whole number from 1 to 65535")
    return port


def starting_server(spawners: Any, token: str | None) -> Any:
    """Of a user's spawners the one that works for the server with this token, while it starts. Raises PortRefused."""
    sent = (token or "").encode("utf-8", "replace")
    for owner in spawners:
        known = (owner.api_token or "").encode()
        if known and hmac.compare_digest(known, sent):
            break
    else:
        raise PortRefused(403, "this is no token of a server that starts")
    spawner = innermost(owner)
    if isinstance(spawner, SingularitySlurmSpawner):
        raise PortRefused(403, "Siflab's sessions use /hub/api/siflab/claim")
    if owner.pending != "spawn":
        raise PortRefused(403, "the server is not starting")
    return spawner


def set_port(spawner: Any, port: int) -> None:
    """Once a start. Raises PortRefused."""
    if spawner.port not in (0, port):
        raise PortRefused(403, "this start has its port already")
    spawner.port = port


class PortHandler(APIHandler):
    async def post(self) -> None:
        user = self.current_user
        try:
            if user is None or not hasattr(user, "spawners"):
                raise PortRefused(403, "no token of a user's server")
            spawner = starting_server(list(user.spawners.values()), self.get_auth_token())
            set_port(spawner, read_port(self.request.body))
        except PortRefused as refused:
            line = refusals.note("port", peer(self.request), str(refused))
            if line:
                self.log.warning("siflab: %s", line)
            self.set_status(refused.status)
            self.finish(json.dumps({"status": refused.status, "message": f"refused: {refused}"}))
            return
        self.set_status(201)
        self.finish(json.dumps({"message": "BatchSpawner data configured"}))
