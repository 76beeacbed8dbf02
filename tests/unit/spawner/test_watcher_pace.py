"""How often and what the watcher asks: the number of questions does not grow with the number of users."""

import asyncio
import threading

import pytest

from siflab.slurm import records
from siflab_spawner.watch.pace import Pace, Stopwatch

from .conftest import Clock, FakeSlurm, row, said, watched

pytestmark = pytest.mark.asyncio


async def test_fifty_thousand_jobs_of_others():
    """How many questions, of what kind, at what intervals, and that the Hub's event loop goes on meanwhile."""
    ours = [str(n) for n in range(1, 251)]
    others = "".join(row(str(n), user="other", uid=5000) for n in range(1000, 51000))
    text = others + "".join(row(job) for job in ours)
    clock, loops = Clock(), []
    main = threading.get_ident()
    state_info = records.state_info

    def seen(word):
        loops.append(threading.get_ident() == main)
        return state_info(word)

    def squeue(argv):
        clock.now += 2.0
        return said(text)

    slurm = FakeSlurm(squeue=squeue)
    watcher, rings = watched(slurm, *ours, clock=clock)
    records.state_info = seen
    try:
        await watcher.look()
    finally:
        records.state_info = state_info
    assert watcher.sessions() == {"running": 250} and len(rings) == 250
    assert len(slurm.calls) == 1 and "--jobs" not in slurm.calls[0][0]
    assert loops == [False] * 250, "250 rows are read, in a thread; those of others are not"
    assert watcher.took == 2.0 and watcher.interval() == 40.0, "20 x what the query took, though all of them start"

    until, looks = clock.now + 3600, 0
    while clock.now < until:
        await watcher.look()
        looks += 1
        clock.now += watcher.interval()
    assert looks <= 3600 / 42 + 1 and watcher.queries == {"squeue": looks + 1}, "the number of sessions costs nothing"


async def test_few_jobs_are_asked_for_by_id_whatever_others_have():
    slurm = FakeSlurm(squeue=said("".join(row(str(n)) for n in range(1, 100))))
    watcher, _ = watched(slurm, *(str(n) for n in range(1, 100)))
    await watcher.look()
    assert slurm.calls[0][0][-2:] == ["--jobs", ",".join(sorted(str(n) for n in range(1, 100)))]
    slurm = FakeSlurm(squeue=said(row("1") + row("2") + row("3")))
    watcher, _ = watched(slurm, "1", "2", pace=Pace(all_at_once=2))
    await watcher.look()
    assert "--jobs" not in slurm.calls[0][0]


async def test_the_pace_adapts():
    slurm = FakeSlurm(squeue=[said(row("1")), said(stderr="Unable to contact slurm controller", code=1)])
    clock = Clock()
    watcher, _ = watched(slurm, "1", clock=clock)
    assert watcher.interval() == 1.0
    clock.now += 60
    assert watcher.interval() == 6.0, "nothing has happened for a minute"
    clock.now += 6000
    assert watcher.interval() == 15.0
    watcher.follow("1", lambda: None, starting=True)
    assert watcher.interval() == 15.0, "to be followed again is no news"
    watcher.follow("1", lambda: None, starting=True, anew=True)
    assert watcher.interval() == 1.0, "it is being stopped"
    watcher.follow("1", lambda: None, starting=False)
    assert watcher.interval() == 15.0
    await watcher.look()
    await watcher.look()
    assert watcher.failures == 1 and watcher.interval() == 30.0
    for _ in range(5):
        await watcher.look()
    assert watcher.interval() == 60.0 and watcher.failed == {"unreachable": 6}
    watcher.took = 5.0
    assert watcher.interval() == 100.0, "never shorter than 20 x the last look"


async def test_failures_are_not_answered_in_step():
    pace = Pace(jitter=lambda: 1.0)
    assert [pace.interval([], 0.0, failures) for failures in (0, 1, 2, 30)] == [15.0, 45.0, 90.0, 90.0]
    assert len({Pace().interval([], 0.0, 1) for _ in range(20)}) > 1


async def test_two_hundred_polls_share_a_question():
    """A restarted Hub: all polls come at once, and again while Slurm is away."""
    jobs = [str(n) for n in range(1, 201)]
    slurm = FakeSlurm(squeue=said("".join(map(row, jobs))))
    watcher, _ = watched(slurm)
    for job in jobs:
        watcher.follow(job, lambda: None, starting=False)
    readings = await asyncio.gather(*(watcher.known(job) for job in jobs))
    assert {reading.kind for reading in readings} == {"running"} and len(slurm.calls) == 1
    slurm = FakeSlurm(squeue=said(stderr="Unable to contact slurm controller", code=1))
    watcher, _ = watched(slurm, *jobs)
    for _ in range(3):
        readings = await asyncio.gather(*(watcher.known(job) for job in jobs))
    assert {reading.kind for reading in readings} == {"unknown"} and len(slurm.calls) == 1


async def test_a_busy_hub_is_no_slow_slurm():
    """JupyterHub blocks its event loop for seconds when it starts; that must not stretch the next interval to a minute."""
    clock = Clock()
    async with Stopwatch(clock) as stopwatch:
        await asyncio.sleep(0)
        clock.now += 5.0  # one turn of the loop took so long
        assert stopwatch.seconds == 5.0, "not known yet"
        while stopwatch.seconds > 0.1:
            await asyncio.sleep(0)
        clock.now += 0.5  # and the answer came without the loop being busy
        assert 0.5 <= stopwatch.seconds <= 0.6
