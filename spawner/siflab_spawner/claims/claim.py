"""The claim: how a session's job fetches what it runs with, reports that its server listens, why it failed, or its end.

The code in the job's script is good for a claim only while Slurm says that this job runs, and until its server is
ready or its start failed; from then on it is good for one word, that the server ended. One claimant may use it, as
often as it needs to: an answer can get lost.
"""

import hmac
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from siflab.errors import SlurmUnreachable
from siflab.text import Text
from siflab_spawner.claims.certificates import hub_with_ssl
from siflab_spawner.claims.claim_body import ClaimBody, EndedBody, FailedBody, ReadyBody
from siflab_spawner.claims.nodes import node_address
from siflab_spawner.start.admission import turn
from siflab_spawner.start.environment import claim_answer
from siflab_spawner.state import sha256
from siflab_spawner.watch.exit_codes import server_ended
from siflab_spawner.watch.told_end import take_route_away

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


class Refused(Exception):
    """403, final: the job is to end. `message` is for its log."""

    def __init__(self, why: str, message: Text) -> None:
        super().__init__(why)
        self.message = message


class NotYet(Exception):
    """409: ask again in a moment."""

    def __init__(self, why: str, message: Text) -> None:
        super().__init__(why)
        self.message = message


@dataclass(frozen=True)
class Failure:
    """What the job itself says of why its server did not start."""

    exit_code: int
    message: Text
    log_tail: str


BAD = Text(
    "the Hub does not accept this claim: the session was stopped, was started anew, or runs already",
    "Hub 不接受该请求：会话已停止、已重新启动或已在运行",
)
WAIT = Text("the Hub is not ready for this claim yet", "Hub 尚未准备好处理该请求")


async def claim(spawner: "SingularitySlurmSpawner", body: ClaimBody) -> dict[str, Any]:
    """The answer to a claim, after what it rests on is kept. Raises Refused or NotYet."""
    _check_claim(spawner, body)
    if not spawner.session.job_id:
        raise NotYet("the job id is not known yet", WAIT)
    if body.job_id != spawner.session.job_id:
        raise Refused(f"job {body.job_id} is not job {spawner.session.job_id}", BAD)
    await _check_running(spawner)
    if not spawner.can_answer_claims():
        raise NotYet("the Hub has no token for it yet", WAIT)
    record = spawner.watcher.reading(spawner.session.job_id).record
    if record is None or not record.batch_host:
        raise NotYet("Slurm does not say where it runs yet", WAIT)
    try:
        host = await node_address(spawner.slurm, spawner.site, record.batch_host)
    except SlurmUnreachable as error:
        raise NotYet(str(error), WAIT) from error
    await turn(spawner, "claim")
    _check_claim(spawner, body)  # again: time has passed
    session = spawner.session
    session.claimant_hash, session.host, session.port = sha256(body.claimant), host, body.port
    session.tls = hub_with_ssl() is not None
    session.claimed_at = session.claimed_at or time.time()
    spawner.persist()
    spawner.bell.ring()
    return claim_answer(spawner, record)


async def ready(spawner: "SingularitySlurmSpawner", body: ReadyBody) -> None:
    """The shim has proved that its own child listens on the port: from now on there may be a route."""
    _check_code(spawner, body.code)
    session = spawner.session
    if not session.claimed_at:
        raise (NotYet if session.claimant_hash else Refused)("there is no claim", BAD)
    if _is_ready(spawner, body):
        return
    await _check_running(spawner)
    await turn(spawner, "ready")
    _check_code(spawner, body.code)  # again: time has passed
    if _is_ready(spawner, body):
        return
    session.port, session.ready_at = body.port, time.time()
    spawner.persist()
    spawner.bell.ring()


def failed(spawner: "SingularitySlurmSpawner", body: FailedBody) -> None:
    """The job says why it ends. It may say so before it claimed."""
    _check_claim(spawner, body)
    spawner.failure = Failure(body.exit_code, body.text(), body.log_tail)
    spawner.bell.ring()


async def ended(spawner: "SingularitySlurmSpawner", body: EndedBody) -> None:
    """The server ended, or is being ended; its claimant says so, for the session's own job. When this returns no route
    leads to its port, or JupyterHub could not take it away within some seconds."""
    _check_code(spawner, body.code)
    session = spawner.session
    if not session.claimant_hash:
        raise Refused("there is no claim", BAD)
    _check_claimant(spawner, body.claimant)
    if body.job_id != session.job_id:
        raise Refused(f"job {body.job_id} is not job {session.job_id}", BAD)
    if session.phase != "ready":
        spawner.failure = spawner.failure or Failure(body.exit_code, server_ended(body.exit_code), "")
        spawner.bell.ring()
        return
    if spawner.owner._stop_pending:
        return
    if not session.ended_at:
        session.ended_at, session.exit_code = time.time(), body.exit_code
        spawner.log.info("siflab: job %s says that its server ended (%d)", session.job_id, body.exit_code)
        spawner.persist()
    await take_route_away(spawner)


def check_sender(spawner: "SingularitySlurmSpawner", body: Any) -> None:
    """That a request is of the session's job, whatever it asks. Raises Refused."""
    _check_code(spawner, body.code)
    _check_claimant(spawner, body.claimant)


def _check_claim(spawner: "SingularitySlurmSpawner", body: ClaimBody | FailedBody) -> None:
    """What holds until the server is ready."""
    check_sender(spawner, body)
    if spawner.session.phase == "ready":
        raise Refused("the server is ready already", BAD)


def _is_ready(spawner: "SingularitySlurmSpawner", body: ReadyBody) -> bool:
    """Whether this was said already. Raises Refused for another claimant, or another port than was said."""
    _check_claimant(spawner, body.claimant)
    if spawner.session.phase != "ready":
        return False
    if body.port != spawner.session.port:
        raise Refused("the server is ready on another port", BAD)
    return True


def _check_code(spawner: "SingularitySlurmSpawner", code: str) -> None:
    known = spawner.session.claim_hash
    if not hmac.compare_digest(sha256(code), known or "-" * 64) or not known:
        raise Refused("wrong code", BAD)


def _check_claimant(spawner: "SingularitySlurmSpawner", claimant: str) -> None:
    known = spawner.session.claimant_hash
    if known and not hmac.compare_digest(sha256(claimant), known):
        raise Refused("another claimant", BAD)


async def _check_running(spawner: "SingularitySlurmSpawner") -> None:
    job_id = spawner.session.job_id
    spawner.follow()
    if spawner.watcher.reading(job_id).kind != "running":
        await spawner.watcher.look(job_id)
    kind = spawner.watcher.reading(job_id).kind
    if kind in ("ended", "ending"):
        raise Refused(f"Slurm says that job {job_id} ended", BAD)
    if kind != "running":
        raise NotYet(f"Slurm does not say that job {job_id} runs ({kind})", WAIT)
