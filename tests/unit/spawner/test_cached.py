"""What Slurm says, kept for everyone: one question at a time, at an interval, only while somebody looks."""

import asyncio
import logging

import pytest

from siflab.errors import SlurmUnreachable
from siflab.text import Text
from siflab_spawner.page.budget import Bucket, Budget
from siflab_spawner.page.cached import Cached

LOG = logging.getLogger("test")


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


class Source:
    """Answers one after the other; an exception is raised. With `gate` it waits until that is set."""

    def __init__(self, *answers, takes=0.0, clock=None):
        self.answers, self.asked, self.takes, self.clock = list(answers), 0, takes, clock
        self.gate = None

    async def __call__(self):
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.clock is not None:
            self.clock.now += self.takes
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


AWAY = SlurmUnreachable(Text("Slurm is away", "Slurm 不在"))


def cached(source, clock, interval=10.0):
    return Cached(source, interval, LOG, "it", clock=clock)


def test_many_that_look_at_once_ask_once():
    async def scene():
        clock, source = Clock(), Source("one")
        source.gate = asyncio.Event()
        kept = cached(source, clock)
        assert kept.look() is None and kept.age is None
        waiting = [asyncio.ensure_future(kept.at_least(5, 5)) for _ in range(50)]
        await asyncio.sleep(0)
        source.gate.set()
        assert await asyncio.gather(*waiting) == ["one"] * 50
        return source.asked

    assert asyncio.run(scene()) == 1


def test_an_old_answer_is_there_at_once_while_the_next_is_on_its_way():
    async def scene():
        clock, source = Clock(), Source("one", "two")
        kept = cached(source, clock)
        await kept.at_least(5, 5)
        clock.now += 500
        source.gate = asyncio.Event()
        assert (kept.look(), kept.age) == ("one", 500)
        assert await kept.at_least(60, 0.01) == "one"  # it does not come in time
        source.gate.set()
        assert await kept.at_least(60, 5) == "two"
        assert kept.age == 0

    asyncio.run(scene())


def test_what_fails_keeps_the_last_answer_and_says_why():
    async def scene():
        clock, source = Clock(), Source("one", AWAY, ValueError("odd"), "two")
        kept = cached(source, clock)
        await kept.at_least(5, 5)
        intervals = [kept.interval()]
        for words in ("Slurm is away", "Slurm gave no answer that can be read."):
            clock.now += 1000
            assert await kept.at_least(5, 5) == "one"
            assert kept.failing and kept.trouble.en == words
            intervals.append(kept.interval())
        asked = source.asked
        assert await kept.at_least(5, 5) == "one" and source.asked == asked  # not again before its time
        clock.now += 1000
        assert await kept.at_least(5, 5) == "two" and not kept.failing and kept.trouble is None
        return intervals

    assert asyncio.run(scene()) == [10, 20, 40]


@pytest.mark.parametrize(("takes", "interval"), [(0.0, 10), (0.1, 10), (2.0, 40), (30.0, 600)])
def test_the_interval_is_twenty_times_what_an_answer_took_at_least(takes, interval):
    async def scene():
        clock = Clock()
        kept = cached(Source("one", takes=takes, clock=clock), clock)
        await kept.at_least(5, 5)
        return kept.interval()

    assert asyncio.run(scene()) == interval


def test_it_asks_on_while_somebody_looks_and_then_no_more():
    async def scene():
        clock, source = Clock(), Source("x")
        kept = Cached(source, 0.001, LOG, "it", keep=60, clock=clock)
        kept.look()
        while source.asked < 5:
            await asyncio.sleep(0.001)
        clock.now += 100
        await asyncio.wait_for(kept._loop_task, 5)
        asked = source.asked
        kept.look()
        await kept.at_least(0, 5)
        assert source.asked > asked

    asyncio.run(scene())


def test_a_bucket_gives_a_burst_and_then_so_many_a_second():
    clock = Clock()
    bucket = Bucket(2.0, 3, clock)
    for _ in range(3):
        assert bucket.wait() == 0
        bucket.take()
    assert bucket.wait() == 0.5
    clock.now += 0.5
    assert bucket.wait() == 0
    bucket.take()
    clock.now += 1000
    assert [bucket.wait() for _ in range(3)] == [0, 0, 0] and bucket.full


def test_nobody_takes_what_is_everybodys():
    clock = Clock()
    budget = Budget(2.0, 10, 0.5, 6, clock)
    assert [budget.take("user1") for _ in range(8)] == [0] * 6 + [2.0] * 2
    assert [budget.take("user2") for _ in range(4)] == [0] * 4
    assert budget.take("user2") == 0.5  # the Hub's share is used up
    clock.now += 0.5
    assert budget.take("user3") == 0
    clock.now += 1000
    assert budget.take("user1") == 0


def test_people_who_are_gone_are_forgotten():
    clock = Clock()
    budget = Budget(1e9, 10**6, 1e9, 6, clock)
    for number in range(2500):
        clock.now += 1
        budget.take(f"user{number}")
    assert len(budget._people) <= 1001
