"""A session whose job was started again ends with a message; one of which nothing is known goes on (S1, S2, S26)."""

import logging
from types import SimpleNamespace

import pytest

from siflab_spawner.state import SessionState
from siflab_spawner.watch import polling
from siflab_spawner.watch.polling import poll_session

from .conftest import FakeSlurm, row, said, watched

pytestmark = pytest.mark.asyncio
STARTED = "2026-12-01T10:00:00"
AWAY = said(stderr="Unable to contact slurm controller", code=1)


def ready_spawner(slurm, monkeypatch):
    """A spawner as `poll_session` knows it, whose server was ready."""
    notices = []
    monkeypatch.setattr(polling, "leave_notice", lambda user, server, words: notices.append(words))
    session = SessionState(submit_id="ab12", job_id="1", claimed_at=1.0, ready_at=2.0)
    watcher, _ = watched(slurm)
    stopped, kept = [], []

    async def stop(spawner, now):
        stopped.append(now)

    monkeypatch.setattr(polling, "stop_job", stop)
    monkeypatch.setattr(polling.adoption, "waits", lambda spawner: False)
    spawner = SimpleNamespace(
        session=session, watcher=watcher, submission=None, log=logging.getLogger("test"), _log_name="user1", name="",
        user=SimpleNamespace(name="user1"), owner=SimpleNamespace(_check_pending=False, _stop_pending=False),
        persist=lambda: kept.append(session.as_dict()),
    )  # fmt: skip
    spawner.follow = lambda: watcher.follow("1", lambda: None, starting=False)
    return spawner, notices, stopped, kept


async def poll_again(spawner):
    await spawner.watcher.look()
    return await poll_session(spawner)


async def test_a_session_that_runs_on_goes_on(monkeypatch):
    spawner, notices, stopped, kept = ready_spawner(FakeSlurm(squeue=said(row("1", start=STARTED))), monkeypatch)
    assert [await poll_session(spawner), await poll_again(spawner)] == [None, None]
    assert notices == [] and stopped == [] and len(kept) == 1, "its start is kept once"


MOVED = {
    "it waits in the queue": row("1", "PENDING"),
    "it was put back": row("1", "REQUEUED"),
    "it runs again, nobody saw it wait": row("1", start="2026-12-01T10:20:00", node="gpu02"),
}


@pytest.mark.parametrize("line", MOVED.values(), ids=MOVED)
async def test_a_session_whose_job_was_started_again_ends_with_a_message(monkeypatch, line):
    slurm = FakeSlurm(squeue=[said(row("1", start=STARTED)), said(line)])
    spawner, notices, stopped, _ = ready_spawner(slurm, monkeypatch)
    assert await poll_session(spawner) is None
    assert await poll_again(spawner) == 1
    assert stopped == [True] and "put back into the queue by an administrator" in notices[0].en


async def test_a_session_whose_job_ran_again_and_ended_is_told_why(monkeypatch):
    again = said(row("1", "FAILED", start="2026-12-01T10:20:00"))
    slurm = FakeSlurm(
        squeue=[said(row("1", start=STARTED)), again],
        scontrol=said("JobId=1 JobState=FAILED ExitCode=41:0 \n"),
        sacct=AWAY,
    )
    spawner, notices, stopped, _ = ready_spawner(slurm, monkeypatch)
    assert await poll_session(spawner) is None
    assert await poll_again(spawner) == 41
    assert stopped == [] and "put back into the queue by an administrator" in notices[0].en


async def test_a_restarted_hub_knows_when_it_began(monkeypatch):
    spawner, notices, _, _ = ready_spawner(FakeSlurm(squeue=said(row("1", start="2026-12-01T10:20:00"))), monkeypatch)
    spawner.session.started_at = 1.0
    assert await poll_session(spawner) == 1 and notices


@pytest.mark.parametrize("answer", [AWAY, said(row("1", "SUSPENDED", start=STARTED)), said(row("1", "COMPLETING"))])
async def test_what_is_no_move_moves_nothing(monkeypatch, answer):
    spawner, notices, stopped, _ = ready_spawner(FakeSlurm(squeue=[said(row("1", start=STARTED)), answer]), monkeypatch)
    assert [await poll_session(spawner), await poll_again(spawner)] == [None, None]
    assert notices == [] and stopped == []


async def test_a_session_of_which_nothing_is_known_goes_on(monkeypatch):
    spawner, notices, _, _ = ready_spawner(FakeSlurm(squeue=AWAY), monkeypatch)
    assert [await poll_session(spawner), await poll_again(spawner)] == [None, None] and notices == []
