"""Many starts at once go in one after the other, as the Hub's event loop bears it."""

import asyncio
from types import SimpleNamespace

import pytest

from siflab_spawner.start import admission
from siflab_spawner.start.admission import Turns


class Loop:
    """Time passes only where it is slept, and each sleep is late by the next of `late`, the last of them for good."""

    def __init__(self, *late):
        self.now, self.late, self.sleeps = 100.0, list(late), 0

    async def sleep(self, seconds):
        self.sleeps += 1
        self.now += seconds + (self.late.pop(0) if len(self.late) > 1 else self.late[0])


@pytest.fixture
def loop_that_is_late(monkeypatch):
    def make(*late):
        loop = Loop(*late)
        monkeypatch.setattr(admission.time, "monotonic", lambda: loop.now)
        monkeypatch.setattr(admission.asyncio, "sleep", loop.sleep)
        return loop

    return make


@pytest.mark.parametrize(
    ("late", "starts", "sleeps"),
    [
        ((0.0,), 1, 0),  # nobody before it
        ((0.0,), 4, 3),  # a moment between two
        ((0.5, 0.0), 2, 2),  # the loop was late once
        ((0.2, 0.2, 0.2, 0.0), 3, 5),
        ((5.0,), 2, 1),  # never for good: two seconds are over
        ((0.4,), 2, 5),
    ],
)
def test_the_next_start_waits_until_the_loop_answers_again(loop_that_is_late, late, starts, sleeps):
    loop = loop_that_is_late(*late)

    async def all_at_once():
        turns = Turns(0.05)
        await asyncio.gather(*(turns.take() for _ in range(starts)))

    asyncio.run(all_at_once())
    assert loop.sleeps == sleeps


def test_after_a_quiet_time_nothing_waits(loop_that_is_late):
    loop = loop_that_is_late(0.0)

    async def one_after_the_other():
        turns = Turns(0.05)
        await turns.take()
        loop.now += 10
        await turns.take()

    asyncio.run(one_after_the_other())
    assert loop.sleeps == 0


def test_in_the_order_of_asking(loop_that_is_late):
    loop_that_is_late(0.0)
    seen = []

    async def one(turns, number):
        await turns.take()
        seen.append(number)

    async def many():
        turns = Turns(0.05)
        await asyncio.gather(*(one(turns, number) for number in range(5)))

    asyncio.run(many())
    assert seen == [0, 1, 2, 3, 4]


def test_what_jupyterhub_has_begun_to_write_down_is_kept_before_anything_is_awaited(loop_that_is_late):
    """Seen: 1 of 200 starts at once was unknown to the next Hub, since another request's end had rolled it back."""
    loop, kept = loop_that_is_late(0.0), []
    database = SimpleNamespace(commit=lambda: kept.append(loop.sleeps))
    spawner = SimpleNamespace(admission_lag=0.05, _deprecated_db_session=database)

    async def twice():
        turns = [admission.admit(spawner), admission.admit(spawner)]
        assert kept == [0, 0], "in the call itself: a task begins later, and a request may end before it does"
        return await asyncio.gather(*turns)

    assert asyncio.run(twice()) == [[], []], "JupyterHub's default scopes"
    assert loop.sleeps == 1
