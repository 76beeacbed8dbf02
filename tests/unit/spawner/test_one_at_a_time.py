"""A session's user knows its code, and may send what they like: nobody else waits for it."""

import asyncio
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from siflab_spawner.claims import claim, claim_handlers, one_at_a_time
from siflab_spawner.state import SessionState, sha256
from siflab_spawner.watch.pace import Turns

pytestmark = pytest.mark.asyncio


class Session:
    """Stands for a spawner."""


async def test_a_second_of_the_same_kind_is_told_to_ask_again_and_others_are_not():
    mine, others, inside = Session(), Session(), asyncio.Event()
    leave = asyncio.Event()

    async def stay():
        async with one_at_a_time.one_at_a_time(mine, "claim"):
            inside.set()
            await leave.wait()

    first = asyncio.create_task(stay())
    await inside.wait()
    for _ in range(1000):
        with pytest.raises(claim.NotYet):
            async with one_at_a_time.one_at_a_time(mine, "claim"):
                pass
    for spawner, kind in ((mine, "ready"), (others, "claim")):
        async with one_at_a_time.one_at_a_time(spawner, kind):
            pass
    leave.set()
    await first


async def test_those_that_come_one_after_the_other_are_spaced_whatever_became_of_them(monkeypatch):
    paused = []

    async def sleep(seconds):
        paused.append(seconds)

    monkeypatch.setattr(one_at_a_time.asyncio, "sleep", sleep)
    mine = Session()
    for _ in range(3):
        with pytest.raises(claim.Refused):
            async with one_at_a_time.one_at_a_time(mine, "claim"):
                raise claim.Refused("no", claim.BAD)
    assert paused[0] == 0 and all(one_at_a_time.SPACE / 2 < pause <= one_at_a_time.SPACE for pause in paused[1:])


async def test_who_is_urgent_without_end_takes_no_turns_of_others_for_long():
    now = [0.0]
    turns = Turns(60, lambda: now[0])
    for _ in range(3000):
        turns.take({"user1": 1.0}, urgent=["user1"])
        now[0] += 0.1
    waited = 0.0
    while "user2" not in turns.take({"user2": 1.0}):
        now[0] += 1
        waited += 1
        assert waited < 60


@pytest.mark.parametrize("wrong", ["code", "claimant"])
async def test_who_has_no_code_takes_no_turn_of_the_job_s(monkeypatch, wrong):
    """Else a stranger who sends refused requests keeps the session's own job from being heard."""
    session = SessionState.intend({}, "")[0]
    session.claim_hash, session.claimant_hash = sha256("c" * 43), sha256("m" * 32)
    spawner = SimpleNamespace(session=session)
    right = {"code": "c" * 43, "claimant": "m" * 32}
    claim.check_sender(spawner, SimpleNamespace(**right))
    with pytest.raises(claim.Refused):
        claim.check_sender(spawner, SimpleNamespace(**{**right, wrong: "x" * 43}))

    taken, answers = [], []

    @asynccontextmanager
    async def turn(_spawner, kind):
        taken.append(kind)
        yield

    monkeypatch.setattr(claim_handlers, "one_at_a_time", turn)
    handler = SimpleNamespace(
        kind="ended", request=SimpleNamespace(body=b""), set_header=lambda *_: None, _spawner=lambda *_: spawner,
        _answer=lambda status, _: answers.append(status), _refused=refused, act=refused,
    )  # fmt: skip
    for sent in ({**right, wrong: "x" * 43}, right):
        body = SimpleNamespace(user="user1", server="", **sent)
        monkeypatch.setattr(claim_handlers, "read_body", lambda *_: body)  # noqa: B023
        await claim_handlers.EndedHandler.post(handler)
    assert (taken, answers) == (["ended"], [403])


async def refused(*_):
    return None
