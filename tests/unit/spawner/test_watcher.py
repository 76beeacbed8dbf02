"""The watcher: only proof ends a session, one question serves all, and the pace adapts."""

import asyncio
import logging

import pytest

from siflab.slurm.execute import Completed
from siflab_spawner.watcher import Watcher

from .conftest import FakeSlurm, row, said

pytestmark = pytest.mark.asyncio
LOG = logging.getLogger("test")
INVALID = said(stderr="slurm_load_jobs error: Invalid job id specified", code=1, name="scontrol")


def watched(slurm, *jobs):
    """A watcher that follows `jobs` without its loop: a test looks when it wants to."""
    watcher = Watcher(slurm, LOG)
    rings = []
    watcher._run = _nothing
    for job in jobs:
        watcher.follow(job, lambda job=job: rings.append(job), starting=True)
    return watcher, rings


async def _nothing():
    return None


async def test_one_question_for_all():
    slurm = FakeSlurm(squeue=said(row("1") + row("2", "PENDING", reason="Priority", node="n/a")))
    watcher, rings = watched(slurm, "1", "2")
    await watcher.look()
    assert len(slurm.calls) == 1 and "--jobs" in slurm.calls[0][0] and "1,2" in slurm.calls[0][0]
    assert (watcher.reading("1").kind, watcher.reading("2").kind) == ("running", "pending")
    assert sorted(rings) == ["1", "2"]
    await watcher.look()
    assert sorted(rings) == ["1", "2"], "no ring without news"


async def test_looks_of_one_moment_are_shared():
    slurm = FakeSlurm(squeue=said(row("1")))
    watcher, _ = watched(slurm, "1")
    await asyncio.gather(*(watcher.look() for _ in range(20)))
    assert len(slurm.calls) == 2, "the first one's, and one that begins after all have asked"


async def test_a_look_begins_after_it_is_asked_for():
    """A claim must not be answered by a look that began before its job ran."""
    first, second = asyncio.Event(), said(row("1"))
    order = []

    class Slow(FakeSlurm):
        async def arun(self, argv, **kwargs):
            order.append("begin")
            if len(order) == 1:
                await first.wait()
                return said(row("1", "PENDING"))
            return second

    watcher, _ = watched(Slow(), "1")
    early = asyncio.ensure_future(watcher.look())
    while not order:
        await asyncio.sleep(0)
    late = asyncio.ensure_future(watcher.look())
    first.set()
    await asyncio.gather(early, late)
    assert watcher.reading("1").kind == "running" and len(order) == 2


NO_PROOF = [
    Completed(("squeue",), 124, "", "squeue: no answer within 60 s"),
    Completed(("squeue",), 127, "", "squeue: command not found"),
    said(stderr="slurm_load_jobs error: Unable to contact slurm controller (connect failure)", code=1),
    said(stderr="slurm_load_jobs error: Protocol authentication error", code=1),
    said(stderr="slurm_load_jobs error: Unexpected message received", code=1),
    said(stderr="some new words of Slurm 27", code=1),
    said("JOBID PARTITION NAME\n"),
    said("garbage\x1f\x1f\n"),
    said("", stderr="squeue: error: slurm_receive_msg: Zero Bytes were transmitted or received"),
    said(row("1", "NEW_STATE_OF_SLURM_27")),
]


@pytest.mark.parametrize("answer", NO_PROOF)
async def test_what_is_no_proof_ends_nothing(answer):
    slurm = FakeSlurm(squeue=[said(row("1")), answer])
    watcher, rings = watched(slurm, "1")
    await watcher.look()
    await watcher.look()
    assert watcher.reading("1").kind == "running" and rings == ["1"]
    assert slurm.named("scontrol") == [] and slurm.named("sacct") == []


ALIVE = "JobId=1 JobName=x JobState=RUNNING Reason=None ExitCode=0:0"
LACKING = [
    (said(ALIVE, name="scontrol"), said("", name="sacct")),
    (
        said(stderr="slurm_load_jobs error: Unable to contact slurm controller", code=1, name="scontrol"),
        said("", name="sacct"),
    ),
    (said("garbage", name="scontrol"), said("", name="sacct")),
    (Completed(("scontrol",), 124, "", ""), Completed(("sacct",), 124, "", "")),
]


@pytest.mark.parametrize(("scontrol", "sacct"), LACKING)
async def test_a_lacking_job_needs_a_second_witness(scontrol, sacct):
    slurm = FakeSlurm(squeue=[said(row("1")), said("")], scontrol=scontrol, sacct=sacct)
    watcher, _ = watched(slurm, "1")
    await watcher.look()
    await watcher.look()
    assert watcher.reading("1").kind == "running"


async def test_squeue_and_scontrol_together_are_proof():
    slurm = FakeSlurm(
        squeue=[said(row("1")), said(stderr="slurm_load_jobs error: Invalid job id specified", code=1)],
        scontrol=INVALID,
        sacct=said("", name="sacct"),
    )
    watcher, rings = watched(slurm, "1")
    await watcher.look()
    await watcher.look()
    reading = watcher.reading("1")
    assert reading.kind == "ended" and reading.outcome.state.name == "GONE" and rings == ["1", "1"]
    assert reading.outcome.hub_status != 0


async def test_a_final_state_is_proof():
    shown = "JobId=1 JobState=TIMEOUT Reason=TimeLimit ExitCode=0:0 EndTime=2026-12-01T14:02:00 TimeLimit=02:00:00"
    slurm = FakeSlurm(squeue=said(row("1", "TIMEOUT")), scontrol=said(shown, name="scontrol"))
    watcher, _ = watched(slurm, "1")
    await watcher.look()
    assert watcher.reading("1").outcome.state.name == "TIMEOUT"
    await watcher.look()
    assert len(slurm.named("scontrol")) == 1, "an end is looked at once"


async def test_many_jobs_are_asked_for_with_one_full_query():
    slurm = FakeSlurm(squeue=said("".join(row(str(n)) for n in range(1, 200))))
    watcher, _ = watched(slurm, *(str(n) for n in range(1, 121)))
    await watcher.look()
    (argv, _, _) = slurm.calls[0]
    assert "--jobs" not in argv and watcher.reading("120").kind == "running"


async def test_the_pace_adapts():
    slurm = FakeSlurm(squeue=[said(row("1")), said(stderr="Unable to contact slurm controller", code=1)])
    watcher, _ = watched(slurm, "1")
    assert watcher.interval() == 1.0
    watcher.follow("1", lambda: None, starting=False)
    assert watcher.interval() == 15.0
    await watcher.look()
    await watcher.look()
    assert watcher.failures == 1 and watcher.interval() == 30.0
    for _ in range(5):
        await watcher.look()
    assert watcher.interval() == 60.0
    watcher._took = 5.0
    assert watcher.interval() >= 100.0, "never shorter than 20 x the last look"


async def test_the_loop_rests_when_nobody_follows_and_wakes_for_a_new_job():
    slurm = FakeSlurm(squeue=lambda argv: said(row(argv[-1])))
    watcher = Watcher(slurm, LOG, starting_interval=0.001)
    seen = asyncio.Event()
    watcher.follow("1", seen.set, starting=True)
    await asyncio.wait_for(seen.wait(), 5)
    watcher.forget("1")
    await asyncio.wait_for(watcher._loop_task, 5)
    again = asyncio.Event()
    watcher.follow("2", again.set, starting=True)
    await asyncio.wait_for(again.wait(), 5)
    watcher.forget("2")
