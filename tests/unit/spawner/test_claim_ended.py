"""A job that says its server ended: believed from its claimant alone, and only for its own session."""

import asyncio
import logging

import pytest

from siflab_spawner import notices
from siflab_spawner.claims import claim
from siflab_spawner.claims.claim_body import EndedBody
from siflab_spawner.lifetime.stopping import stop_job
from siflab_spawner.state import SessionState
from siflab_spawner.watch.polling import poll_session
from siflab_spawner.watch.told_end import ended_by_itself
from siflab_spawner.watch.watcher import Reading

from .conftest import row, said
from .test_claim import ME, OTHER, FakeSpawner

pytestmark = pytest.mark.asyncio


class Owner:
    """JupyterHub's side of a spawner: a poll that says that it ended takes the route away and stops it."""

    def __init__(self, spawner):
        self.spawner, self.pending, self._stop_pending, self._check_pending = spawner, None, False, False
        self._poll_callback, self.statuses = object(), []

    async def poll_and_notify(self):
        status = await poll_session(self.spawner)
        self.statuses.append(status)
        if status is not None:
            self._stop_pending = True
            await poll_session(self.spawner)
            await asyncio.get_running_loop().create_future()  # the job is not gone for long


@pytest.fixture
def spawner(site):
    one = FakeSpawner(site, said(row("12")))
    one.owner, one.submission, one.log, one._log_name = Owner(one), None, logging.getLogger("test"), "user1"
    one.user.name, one.drop_in = "user1", None
    return one


async def be_ready(spawner):
    await claim.claim(spawner, spawner.asks())
    await claim.ready(spawner, spawner.reports())


def says(spawner, claimant=ME, code=None, job="12", exit_code=46):
    return EndedBody(
        user="user1", server="", code=code or spawner.code, claimant=claimant, job_id=job, exit_code=exit_code
    )


async def test_its_route_goes_before_it_is_answered(spawner):
    await be_ready(spawner)
    await claim.ended(spawner, says(spawner))
    assert spawner.owner.statuses == [46] and spawner.owner._stop_pending
    assert spawner.saved[-1]["exit_code"] == 46 and spawner.saved[-1]["ended_at"]
    assert SessionState.from_dict(spawner.saved[-1]).phase == "ready"


@pytest.mark.parametrize("wrong", [{"claimant": OTHER}, {"code": "x" * 43}, {"job": "13"}])
async def test_nobody_else_s_word_counts(spawner, wrong):
    await be_ready(spawner)
    with pytest.raises(claim.Refused):
        await claim.ended(spawner, says(spawner, **wrong))
    assert spawner.owner.statuses == [] and not spawner.session.ended_at
    assert await poll_session(spawner) is None


async def test_without_a_claimant_there_is_no_word(spawner):
    with pytest.raises(claim.Refused):
        await claim.ended(spawner, says(spawner))
    assert spawner.failure is None


async def test_before_it_was_ready_the_start_failed(spawner):
    await claim.claim(spawner, spawner.asks())
    await claim.ended(spawner, says(spawner))
    assert spawner.failure.exit_code == 46 and not spawner.session.ended_at


async def test_a_stop_that_is_under_way_is_left_alone(spawner):
    await be_ready(spawner)
    spawner.owner._stop_pending = True
    await claim.ended(spawner, says(spawner))
    assert not spawner.session.ended_at and spawner.owner.statuses == []


async def test_the_words_come_from_slurm_and_the_job_is_not_cancelled(spawner):
    await be_ready(spawner)
    spawner.session.ended_at, spawner.session.exit_code = 1.0, 46
    spawner.owner._stop_pending = True
    assert await poll_session(spawner) is None, "Slurm has not confirmed it"
    ended = Reading("ended", None, _outcome())
    spawner.watcher.reading = lambda _: ended
    assert await ended_by_itself(spawner)
    assert "killed by a signal" in notices.last_notice("user1", "").en
    spawner.slurm.calls.clear()
    await stop_job(spawner)
    assert spawner.slurm.named("scancel") == []


async def test_a_job_that_ends_because_it_was_requeued_is_cancelled_and_called_so(spawner):
    await be_ready(spawner)
    spawner.session.ended_at = 1.0
    spawner.owner._stop_pending = True
    spawner.watcher.reading = lambda _: Reading("pending", None)
    assert not await ended_by_itself(spawner)
    assert "put back into the queue" in notices.last_notice("user1", "").en


def _outcome():
    from siflab.slurm.states import state_info
    from siflab_spawner.watch.outcome import Outcome

    return Outcome("12", state_info("FAILED"), exit_code=46)
