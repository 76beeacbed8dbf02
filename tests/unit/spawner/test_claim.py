"""Who gets a session's credentials, and when: the claim as a table of moments and callers."""

import logging
from types import SimpleNamespace

import pytest

from siflab.slurm.execute import Completed
from siflab_spawner.claims import claim, nodes
from siflab_spawner.claims.claim_body import ClaimBody, FailedBody, ReadyBody
from siflab_spawner.state import SessionState, sha256
from siflab_spawner.watch.bell import Bell
from siflab_spawner.watch.watcher import Watcher

from .conftest import FakeSlurm, row, said

pytestmark = pytest.mark.asyncio
ME, OTHER = "m" * 32, "o" * 32
NODE = said("NodeName=gpu01 Arch=x86_64 NodeAddr=10.0.0.11 NodeHostName=gpu01.site Version=22", name="scontrol")


class FakeSpawner:
    """As much of the spawner as a claim touches."""

    def __init__(self, site, squeue, token="t0ken"):
        self.site, self.slurm = site, FakeSlurm(squeue=squeue, scontrol=NODE, sacct=said("", name="sacct"))
        self.session, self.code = SessionState.intend(
            {"python": "/opt/python3", "home_inside": "/workspace/user1", "partition": "gpu"}, ""
        )
        self.session.job_id = "12"
        self.bell, self.failure, self.api_token, self.saved = Bell(), None, token, []
        self.watcher = Watcher(self.slurm, logging.getLogger("test"))
        self.watcher._run = self._nothing
        self.user, self.name, self.cmd = SimpleNamespace(name="user1"), "", []
        self.admission_lag = 0.05
        self.hub = SimpleNamespace(public_host="", base_url="/hub/")

    async def _nothing(self):
        return None

    def follow(self, starting=True):
        self.watcher.follow(self.session.job_id, self.bell.ring, starting=starting)

    def persist(self):
        self.saved.append(self.session.as_dict())

    def can_answer_claims(self):
        return bool(self.api_token)

    def get_args(self):
        return ["--x=y"]

    def get_env(self):
        return {
            "JUPYTERHUB_API_TOKEN": self.api_token, "JUPYTERHUB_SERVICE_URL": "http://0.0.0.0:0/user/user1/",
            "HOME": "/home/user1", "SHELL": "/bin/zsh", "JUPYTERHUB_USER": "user1",
        }  # fmt: skip

    def asks(self, claimant=ME, code=None, port=40000, job="12", node="gpu01"):
        return ClaimBody(
            user="user1", server="", code=code or self.code, claimant=claimant, port=port, job_id=job, node=node
        )

    def reports(self, claimant=ME, code=None, port=40000):
        return ReadyBody(user="user1", server="", code=code or self.code, claimant=claimant, port=port)


@pytest.fixture(autouse=True)
def _fresh_addresses():
    nodes._known.clear()


@pytest.fixture
def spawner(site):
    return FakeSpawner(site, said(row("12")))


async def test_the_answer(spawner):
    answer = await claim.claim(spawner, spawner.asks())
    assert set(answer) == {"env", "argv", "files", "session", "site"}
    assert answer["argv"] == ["/opt/python3", "-m", "jupyterhub.singleuser", "--x=y"]
    env = answer["env"]
    assert env["JUPYTERHUB_API_TOKEN"] == "t0ken"
    assert env["JUPYTERHUB_SERVICE_URL"] == "http://0.0.0.0:40000/user/user1/"
    assert not {"HOME", "SHELL"} & set(env)
    assert answer["session"]["node"] == "gpu01" and answer["session"]["job_id"] == "12"
    assert answer["site"]["name"] == "here"


async def test_the_address_comes_from_slurm_and_is_kept_before_the_answer(spawner):
    await claim.claim(spawner, spawner.asks(node="evil.example"))
    kept = spawner.saved[-1]
    assert (kept["host"], kept["port"], kept["claimant_hash"]) == ("10.0.0.11", 40000, sha256(ME))


async def test_the_same_claimant_may_ask_again_with_another_port(spawner):
    await claim.claim(spawner, spawner.asks())
    answer = await claim.claim(spawner, spawner.asks(port=40001))
    assert ":40001/" in answer["env"]["JUPYTERHUB_SERVICE_URL"] and spawner.session.port == 40001


REFUSED = [
    ("wrong code", lambda s: s.asks(code="x" * 43)),
    ("another job", lambda s: s.asks(job="13")),
]


@pytest.mark.parametrize("asked", [ask for _, ask in REFUSED], ids=[name for name, _ in REFUSED])
async def test_wrong_claims_are_refused(spawner, asked):
    with pytest.raises(claim.Refused):
        await claim.claim(spawner, asked(spawner))
    assert spawner.saved == []


async def test_a_second_claimant_is_refused_with_the_right_code(spawner):
    await claim.claim(spawner, spawner.asks())
    for body in (spawner.asks(OTHER), spawner.asks(OTHER, port=40001)):
        with pytest.raises(claim.Refused, match="another claimant"):
            await claim.claim(spawner, body)
    with pytest.raises(claim.Refused):
        await claim.ready(spawner, spawner.reports(OTHER))
    with pytest.raises(claim.Refused):
        claim.failed(
            spawner, FailedBody(user="user1", server="", code=spawner.code, claimant=OTHER, exit_code=1, message="x")
        )
    assert spawner.session.ready_at == 0 and spawner.failure is None


MOMENTS = [
    (said(row("12", "PENDING", node="n/a")), claim.NotYet),
    (said(row("12", "CONFIGURING")), claim.NotYet),
    (said(row("12", node="n/a")), claim.NotYet),
    (said(stderr="Unable to contact slurm controller", code=1), claim.NotYet),
    (Completed(("squeue",), 124, "", ""), claim.NotYet),
    (said(row("12", "COMPLETING")), claim.Refused),
]


@pytest.mark.parametrize(("squeue", "answer"), MOMENTS)
async def test_the_code_is_good_only_while_slurm_says_that_the_job_runs(site, squeue, answer):
    spawner = FakeSpawner(site, squeue)
    with pytest.raises(answer):
        await claim.claim(spawner, spawner.asks())
    assert spawner.saved == []


async def test_before_the_job_id_is_kept_it_is_not_yet(spawner):
    spawner.session.job_id = ""
    with pytest.raises(claim.NotYet):
        await claim.claim(spawner, spawner.asks())


async def test_without_a_token_after_a_restart_it_is_not_yet(site):
    spawner = FakeSpawner(site, said(row("12")), token="")
    with pytest.raises(claim.NotYet):
        await claim.claim(spawner, spawner.asks())
    assert spawner.saved == []


async def test_ready_makes_the_code_void(spawner):
    await claim.claim(spawner, spawner.asks())
    seen = spawner.bell.count
    await claim.ready(spawner, spawner.reports(port=40000))
    assert spawner.session.phase == "ready" and spawner.bell.count > seen
    await claim.ready(spawner, spawner.reports(port=40000))  # its answer may have been lost
    for late in (spawner.asks(), spawner.asks(OTHER)):
        with pytest.raises(claim.Refused):
            await claim.claim(spawner, late)
    with pytest.raises(claim.Refused):
        await claim.ready(spawner, spawner.reports(port=40002))
    assert spawner.session.port == 40000


async def test_ready_without_a_claim_is_refused(spawner):
    with pytest.raises(claim.Refused):
        await claim.ready(spawner, spawner.reports())


async def test_a_stopped_session_accepts_nothing(spawner):
    spawner.session = SessionState()
    for body in (spawner.asks(), spawner.asks(code="-" * 64)):
        with pytest.raises(claim.Refused):
            await claim.claim(spawner, body)


async def test_the_job_may_say_why_before_it_claimed(spawner):
    claim.failed(
        spawner, FailedBody(user="user1", server="", code=spawner.code, claimant=ME, exit_code=45, message="x")
    )
    assert spawner.failure.exit_code == 45 and "port" in spawner.failure.message.en


async def test_from_ready_on_the_code_is_good_for_the_end_alone(spawner):
    await claim.claim(spawner, spawner.asks())
    await claim.ready(spawner, spawner.reports(port=40000))
    late = FailedBody(user="user1", server="", code=spawner.code, claimant=ME, exit_code=45, message="x")
    with pytest.raises(claim.Refused):
        claim.failed(spawner, late)
    assert spawner.failure is None


async def test_what_waits_for_its_turn_is_looked_at_again_after_it(spawner, monkeypatch):
    """The server becomes ready, and its port another one, while a second claim waits."""
    await claim.claim(spawner, spawner.asks())

    async def turn(_spawner, _kind):
        spawner.session.ready_at, spawner.session.port = 1.0, 40000

    monkeypatch.setattr(claim, "turn", turn)
    with pytest.raises(claim.Refused):
        await claim.claim(spawner, spawner.asks(port=40002))
    assert spawner.session.port == 40000
    spawner.session.ready_at = 0.0
    with pytest.raises(claim.Refused):
        await claim.ready(spawner, spawner.reports(port=40002))
    assert spawner.session.port == 40000
