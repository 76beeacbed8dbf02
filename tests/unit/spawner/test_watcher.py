"""The watcher: only proof ends a session, and one question serves all."""

import asyncio
import time
from collections import Counter

import pytest

from siflab.slurm.execute import Completed
from siflab_spawner.start.mark import Ours
from siflab_spawner.watch.pace import Pace
from siflab_spawner.watch.watcher import Watcher

from .conftest import LOG, STEADY, Clock, FakeSlurm, find, rest, row, said, watched

pytestmark = pytest.mark.asyncio
INVALID = said(stderr="slurm_load_jobs error: Invalid job id specified", code=1, name="scontrol")


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


NO_PROOF = {
    "no answer in time": (Completed(("squeue",), 124, "", "squeue: no answer within 60 s"), "timeout"),
    "no command": (Completed(("squeue",), 127, "", "squeue: command not found"), "not-run"),
    "slurmctld away": (
        said(stderr="slurm_load_jobs error: Unable to contact slurm controller (connect failure)", code=1),
        "unreachable",
    ),
    "munge away": (said(stderr="slurm_load_jobs error: Protocol authentication error", code=1), "unreachable"),
    "another message": (said(stderr="slurm_load_jobs error: Unexpected message received", code=1), "unreachable"),
    "new words": (said(stderr="some new words of Slurm 27", code=1), "refused"),
    "killed": (said(row("1"), code=-9), "unreachable"),
    "another cluster": (Completed(("squeue",), 76, "", "squeue: asked for lab, got other"), "unreachable"),
    "nothing": (said(""), "empty"),
    "blank lines": (said("\n\n"), "empty"),
    "a header": (said("JOBID PARTITION NAME\n"), "unreadable"),
    "a header in our fields": (said(row("JOBID")), "empty"),
    "garbage": (said("garbage\x1f\x1f\n"), "unreadable"),
    "bytes": (said("\x00\udcff\x1f\n"), "unreadable"),
    "an error on standard output": (said("slurm_load_jobs error: Unable to contact slurm controller\n"), "unreadable"),
    "an error with exit code 0": (
        said("", stderr="squeue: error: slurm_receive_msg: Zero Bytes were transmitted or received"),
        "error-text",
    ),
    "an error beside rows": (said(row("2"), stderr="squeue: error: No cluster 'x' known by database."), "error-text"),
    "a row that was cut": (said(row("2") + row("1", "COMPLETED")[:-12]), "unreadable"),
    "the job twice": (said(row("1", "COMPLETED") + row("1")), "unreadable"),
    "other jobs only": (said(row("2") + row("3")), "empty"),
    "a state of Slurm 27": (said(row("1", "NEW_STATE_OF_SLURM_27")), None),
    "a flag that leaves it open": (said(row("1", "LAUNCH_FAILED")), None),
}


@pytest.mark.parametrize(("answer", "cause"), NO_PROOF.values(), ids=NO_PROOF)
async def test_what_is_no_proof_ends_nothing(answer, cause):
    slurm = FakeSlurm(squeue=[said(row("1")), answer])
    watcher, rings = watched(slurm, "1")
    await watcher.look()
    await watcher.look()
    assert watcher.reading("1").kind == "running" and rings == ["1"]
    assert slurm.named("scontrol") == [] and slurm.named("sacct") == []
    assert watcher.failed == Counter([cause] if cause else [])
    assert watcher.failures == (1 if cause else 0)


@pytest.mark.parametrize(("answer", "cause"), NO_PROOF.values(), ids=NO_PROOF)
async def test_what_is_no_proof_tells_nothing_of_a_new_job(answer, cause):
    watcher, rings = watched(FakeSlurm(squeue=answer), "1")
    await watcher.look()
    assert watcher.reading("1").kind == "unknown" and rings == []


MANY_NO_PROOF = [
    name for name in NO_PROOF if name not in ("nothing", "blank lines", "other jobs only", "a header in our fields")
]


@pytest.mark.parametrize("name", MANY_NO_PROOF)
async def test_that_holds_for_many_jobs_too(name):
    jobs = [str(n) for n in range(1, 151)]
    slurm = FakeSlurm(
        squeue=[said("".join(map(row, jobs))), NO_PROOF[name][0]], scontrol=said(code=1), sacct=said(code=1)
    )
    watcher, rings = watched(slurm, *jobs)
    await watcher.look()
    await watcher.look()
    assert watcher.sessions() == {"running": 150} and len(rings) == 150


ALIVE = "JobId=1 JobName=x JobState=RUNNING Reason=None ExitCode=0:0"
LACKS = said(row("2"))
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
    slurm = FakeSlurm(squeue=[said(row("1") + row("2")), LACKS], scontrol=scontrol, sacct=sacct)
    watcher, _ = watched(slurm, "1", "2")
    await watcher.look()
    await watcher.look()
    assert watcher.reading("1").kind == "running" and slurm.named("scontrol")


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
    assert len(slurm.calls) == 2, "who has ended is not asked for again"


OURS = Ours("user1", "siflab:here:user1::ab12", 1796115600.0)  # 2026-12-01T09:00:00Z
NOT_OURS = {
    "another owner": (row("1", user="user2", uid=1002), None, "NOT_OURS"),
    "another owner's that ended": (row("1", "COMPLETED", user="user2", uid=1002), None, "NOT_OURS"),
    "the same number by another name": (row("1", user="USER1", uid=1001), None, None),
    "an owner without a name": (row("1", user="1001", uid=1001), None, None),
    "no number": (row("1", user="user2", uid="?"), None, "unknown"),
    "requeued": (row("1", submitted="2026-12-01T19:00:00"), OURS.mark, None),
    "without a comment": (row("1", submitted="2026-12-01T19:00:00"), "(null)", "NOT_OURS"),
    "another session's": (row("1", submitted="2026-12-01T19:00:00"), "siflab:here:user1:gpu:cd34", "NOT_OURS"),
    "of a mark that cannot be read": (row("1", submitted="2026-12-01T19:00:00"), None, "unknown"),
}


@pytest.mark.parametrize(("line", "comment", "state"), NOT_OURS.values(), ids=NOT_OURS)
async def test_a_number_that_slurm_gave_to_another_job_is_not_ours(monkeypatch, line, comment, state):
    """After a loss of slurmctld's state ids begin anew."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()

    def squeue(argv):
        if "%k" not in argv[argv.index("--format") + 1]:
            return said(line)
        return said(code=1) if comment is None else said(row("1", comment=comment))

    slurm = FakeSlurm(squeue=squeue)
    watcher = Watcher(slurm, LOG, STEADY, Clock(), find=find)
    watcher._run = rest
    watcher.follow("1", lambda: None, starting=True, ours=OURS)
    await watcher.look()
    reading = watcher.reading("1")
    if state == "NOT_OURS":
        assert (reading.kind, reading.outcome.state.name) == ("ended", "NOT_OURS")
    else:
        assert reading.kind == (state or "running")
    asked = len(slurm.calls)
    await watcher.look()
    if comment == OURS.mark:
        assert len(slurm.calls) == asked + 1, "its mark is looked at once"


async def test_the_loop_rests_when_nobody_follows_and_wakes_for_a_new_job():
    slurm = FakeSlurm(squeue=lambda argv: said(row(argv[-1])))
    watcher = Watcher(slurm, LOG, Pace(starting=0.001))
    seen = asyncio.Event()
    watcher.follow("1", seen.set, starting=True)
    await asyncio.wait_for(seen.wait(), 5)
    watcher.forget("1")
    await asyncio.wait_for(watcher._loop_task, 5)
    again = asyncio.Event()
    watcher.follow("2", again.set, starting=True)
    await asyncio.wait_for(again.wait(), 5)
    watcher.forget("2")


async def test_what_a_metrics_page_reads():
    slurm = FakeSlurm(squeue=[said(row("1") + row("2", "PENDING")), said(stderr="x", code=1)])
    watcher, _ = watched(slurm, "1", "2")
    assert watcher.age() is None and watcher.sessions() == {"unknown": 2}
    await watcher.look()
    await watcher.look()
    assert watcher.sessions() == {"running": 1, "pending": 1}
    assert (watcher.queries, watcher.failed, watcher.looks) == ({"squeue": 2}, {"refused": 1}, 2)
    assert watcher.age() >= 0
