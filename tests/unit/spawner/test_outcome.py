"""What a job ended of: who is believed, and how it is told."""

import pytest

from siflab.slurm.execute import Completed, PosixUser
from siflab.slurm.records import OUTCOME_FIELDS, SEPARATOR
from siflab.slurm.states import BASE_STATES, state_info
from siflab_spawner.start.mark import ANY, Ours
from siflab_spawner.watch import evidence
from siflab_spawner.watch.evidence import NOT_OURS, Hidden, confirm_end, outcome_of_sacct, read_scontrol
from siflab_spawner.watch.outcome import Outcome, in_words

from .conftest import FakeSlurm, row, said

USER1 = PosixUser("user1", 1001, 1001, (1001,), "/home/user1", "/bin/bash")


def sacct(job="7", state="FAILED", code="1:0", reason="None", rss="", memory="16G", uid="1001"):
    fields = [job, "user1", state, code, reason, "gpu01", "2026-12-01T10:00:00", "2026-12-01T14:02:00",
              "2026-12-01T09:00:00", "02:00:00", rss, memory, uid]  # fmt: skip
    assert len(fields) == len(OUTCOME_FIELDS)
    return SEPARATOR.join(fields) + "\n"


SHOWN = (
    "JobId=7 JobName={name} UserId=user1(1001) GroupId=user1(1001) JobState={state} Reason={reason} ExitCode={code} "
    "TimeLimit=02:00:00 BatchHost=gpu01 EndTime=2026-12-01T14:02:00 Comment={comment} WorkDir=/home/user1 \n"
)


def shown(state="RUNNING", reason="None", code="0:0", name="x", comment="y"):
    return said(SHOWN.format(state=state, reason=reason, code=code, name=name, comment=comment), name="scontrol")


def ended(state, **more):
    return Outcome("7", state_info(state), uid=1001, **more)


WORDS = [
    (ended("TIMEOUT", time_limit=7200), "its time limit of 2:00:00 was reached", "时间上限（2:00:00）"),
    (ended("TIMEOUT", reason="QOSGrpCPUMinutesLimit"), "a limit of its QOS was reached", "QOS 的上限已达到"),
    (ended("OUT_OF_MEMORY"), "used more memory than it asked for", "超过申请量"),
    (ended("OUT_OF_MEMORY", memory_mib=16384, used_mib=16589), "used 16.2 GiB of 16 GiB", "使用了 16.2 GiB 内存"),
    (ended("OUT_OF_MEMORY", memory_mib=16384, used_mib=9000), "reached its 16 GiB of memory", "达到申请的 16 GiB"),
    (ended("OUT_OF_MEMORY", memory_mib=16384, used_mib=16383), "reached its 16 GiB of memory", "达到申请的 16 GiB"),
    (ended("OUT_OF_MEMORY", memory_mib=500), "reached its 500 MiB", "500 MiB"),
    (ended("NODE_FAIL", node="gpu02"), "node gpu02 failed", "节点 gpu02 故障"),
    (ended("BOOT_FAIL", node="gpu02"), "node gpu02 did not boot", "节点 gpu02 启动失败"),
    (ended("CANCELLED", cancelled_by=0, cancelled_by_name="root"), "cancelled by root. Ask", "操作者：root"),
    (ended("CANCELLED", cancelled_by=4000000), "cancelled by uid 4000000", "uid 4000000"),
    (ended("CANCELLED", cancelled_by=1001, cancelled_by_name="user1"), "cancelled by you", "您本人"),
    (ended("CANCELLED"), "it was cancelled. Start again", "已被取消"),
    (ended("CANCELLED", reason="ReservationDeleted"), "its reservation was deleted", "预约已被删除"),
    (ended("PREEMPTED"), "higher priority", "抢占"),
    (ended("DEADLINE"), "deadline passed", "截止时间"),
    (ended("FAILED", exit_code=3), "exit code 3", "退出码 3"),
    (ended("FAILED", exit_code=34), "does not exist on the node", "节点上不存在"),
    (ended("FAILED", exit_code=36), "container did not start", "容器未能启动"),
    (ended("FAILED", signal=9), "killed by signal 9", "信号 9"),
    (ended("FAILED", reason="JobLaunchFailure"), "could not launch it", "无法在节点上启动"),
    (ended("FAILED", reason="{evil}"), "Slurm says {evil}", "{evil}"),
    (ended("COMPLETED"), "shut down", "已关闭"),
    (Outcome("7", NOT_OURS), "given its number to another", "另一个作业"),
]


@pytest.mark.parametrize(("outcome", "en", "zh"), WORDS)
def test_it_says_what_happened_in_both_languages(outcome, en, zh):
    text = in_words(outcome)
    assert en in text.en and "Job 7 ended" in text.en and zh in text.zh
    assert (outcome.hub_status == 0) == (outcome.state.name == "COMPLETED")
    assert "(?" not in text.en and ".." not in text.en and "。。" not in text.zh


def test_when_is_told_and_every_end_has_words():
    outcome = read_scontrol("7", shown("TIMEOUT", "TimeLimit"))
    assert in_words(outcome).en.startswith("Job 7 ended at 14:02: its time limit of 2:00:00 was reached. Start again")
    assert {state for _, state in ((o, o.state.name) for o, _, _ in WORDS)} >= {
        info.name for info in BASE_STATES.values() if info.kind == "ended"
    }


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        ("TIMEOUT", "0:0", ("TIMEOUT", 0, 0)),
        ("FAILED", "34:0", ("FAILED", 34, 0)),
        ("OUT_OF_MEMORY", "0:125", ("OUT_OF_MEMORY", 0, 125)),
    ],
)
def test_scontrol_tells_state_and_exit_code(state, code, expected):
    outcome = read_scontrol("7", shown(state, code=code), USER1)
    assert (outcome.state.name, outcome.exit_code, outcome.signal) == expected
    assert (outcome.time_limit, outcome.ended_at.hour, outcome.node, outcome.uid) == (7200, 14, "gpu01", 1001)


GONE = said(stderr="slurm_load_jobs error: Invalid job id specified", code=1, name="scontrol")
SAID = [
    (shown("RUNNING"), "lives"),
    (shown("PENDING"), "lives"),
    (shown("COMPLETING"), "lives"),
    (shown("REQUEUED"), "lives"),
    (GONE, "gone"),
    (shown("NEW_STATE"), "unclear"),
    (shown("LAUNCH_FAILED"), "unclear"),
    (shown("RUNNING", name="x JobState=COMPLETED"), "unclear"),
    (shown("RUNNING", name="x\n   JobState=COMPLETED Reason=None"), "unclear"),
    (shown("RUNNING", comment="x JobState=COMPLETED"), "unclear"),
    (said("JobId=17 JobState=COMPLETED\n"), "unclear"),
    (said("x JobId=7 JobState=COMPLETED\n"), "unclear"),
    (said("garbage\n"), "unclear"),
    (said(""), "unclear"),
    (said(stderr="Unable to contact slurm controller", code=1), "unclear"),
    (said(stderr="Invalid job id specified; Unable to contact slurm controller", code=1), "unclear"),
    (Completed(("scontrol",), 124, "", "Invalid job id specified"), "unclear"),
]


@pytest.mark.parametrize(("answer", "said_"), SAID)
def test_what_scontrol_leaves_open_stays_open(answer, said_):
    assert read_scontrol("7", answer) == said_


def test_a_field_that_stands_twice_is_not_believed():
    outcome = read_scontrol("7", shown("FAILED", code="3:0", comment="x ExitCode=9:9 EndTime=2020-01-01T00:00:00"))
    assert (outcome.state.name, outcome.exit_code, outcome.ended_at) == ("FAILED", 0, None)


def test_a_job_of_another_owner_is_not_ours():
    other = PosixUser("user2", 1002, 1002, (1002,), "/home/user2", "/bin/bash")
    assert read_scontrol("7", shown("RUNNING"), other).state is NOT_OURS
    assert outcome_of_sacct("7", sacct(), owner=other) is None


SACCT = [
    (sacct(state="CANCELLED by 1001", code="0:0"), ("CANCELLED", 1001)),
    (sacct() + sacct("7.batch", "OUT_OF_MEMORY", "0:125"), ("OUT_OF_MEMORY", None)),
    (sacct("17") + sacct(state="TIMEOUT"), ("TIMEOUT", None)),
]


@pytest.mark.parametrize(("text", "expected"), SACCT)
def test_sacct_tells_who_and_which_step(text, expected):
    outcome = outcome_of_sacct("7", text)
    assert (outcome.state.name, outcome.cancelled_by) == expected


def test_sacct_tells_how_much_memory():
    text = sacct(state="OUT_OF_MEMORY") + sacct("7.batch", rss="16987136K", uid="") + sacct("7.extern", rss="0", uid="")
    outcome = outcome_of_sacct("7", text, owner=USER1)
    assert (outcome.memory_mib, outcome.used_mib) == (16384, 16589)


@pytest.mark.parametrize(
    "text",
    ["", "garbage\n", sacct(state="RUNNING"), sacct("17"), sacct("7.batch"), sacct()[:-1], sacct(state="NEW_STATE")],
)
def test_sacct_without_an_end_of_this_job_proves_nothing(text):
    assert outcome_of_sacct("7", text) is None


def test_accounting_of_an_earlier_job_with_this_number_proves_nothing():
    submitted = outcome_of_sacct("7", sacct()).ended_at.replace(hour=9, minute=0).timestamp()
    assert outcome_of_sacct("7", sacct(), Ours("user1", "mark", submitted + 120)) is not None
    assert outcome_of_sacct("7", sacct(), Ours("user1", "mark", submitted + 3600)) is None


@pytest.mark.asyncio
async def test_accounting_is_asked_only_where_it_knows_more():
    slurm = FakeSlurm(scontrol=shown("TIMEOUT", "TimeLimit"))
    assert (await confirm_end(slurm, "7", None)).state.name == "TIMEOUT"
    slurm = FakeSlurm(scontrol=shown("CANCELLED"), sacct=said(sacct(state="CANCELLED by 0")))
    outcome = await confirm_end(slurm, "7", None)
    assert (outcome.cancelled_by, outcome.cancelled_by_name) == (0, "root")


@pytest.mark.asyncio
async def test_accounting_that_lags_is_waited_for_where_nobody_waits_for_the_end(monkeypatch):
    monkeypatch.setattr(evidence, "_PAUSES", (0.0, 0.0))
    late = [said(sacct(state="RUNNING")), said(sacct(state="CANCELLED by 0"))]
    slurm = FakeSlurm(scontrol=shown("CANCELLED"), sacct=list(late))
    assert (await confirm_end(slurm, "7", None, patient=True)).cancelled_by_name == "root"
    slurm = FakeSlurm(scontrol=shown("CANCELLED"), sacct=list(late))
    assert (await confirm_end(slurm, "7", None)).cancelled_by is None
    slurm = FakeSlurm(scontrol=shown("CANCELLED"), sacct=said(""))
    assert (await confirm_end(slurm, "7", None, patient=True)).state.name == "CANCELLED"
    assert len(slurm.named("sacct")) == 3


FORGED = shown("RUNNING", name="x JobState=COMPLETED")
CONFIRMED = {
    "a forger's own job is believed to live": (FORGED, said(""), None),
    "accounting knows the end of a forger's job": (FORGED, said(sacct(state="TIMEOUT")), "TIMEOUT"),
    "slurmctld forgot it, accounting is away": (GONE, Completed(("sacct",), 124, "", ""), "GONE"),
    "slurmctld forgot it, accounting lags": (GONE, said(sacct(state="RUNNING")), "GONE"),
    "slurmctld is away, accounting knows": (said(code=1), said(sacct(state="TIMEOUT")), "TIMEOUT"),
    "nobody answers": (said(code=1), said(code=1), None),
}


@pytest.mark.asyncio
@pytest.mark.parametrize(("scontrol", "accounting", "state"), CONFIRMED.values(), ids=CONFIRMED)
async def test_an_end_is_confirmed_or_it_is_none(scontrol, accounting, state):
    found = await confirm_end(FakeSlurm(scontrol=scontrol, sacct=accounting), "7", None)
    assert (found and found.state.name) == state


UNKNOWN = said(stderr="slurm_load_jobs error: Invalid job id specified", code=1)
OWNER_SAYS = {
    "it runs": (said(row("7")), Hidden),
    "it is unknown": (UNKNOWN, "GONE"),
    "it ended": (said(row("7", "COMPLETED")), None),
    "nothing": (said(""), None),
    "that Slurm is away": (said(stderr="Unable to contact slurm controller", code=1), None),
    "that it cannot be run": (Completed(("squeue",), 127, "", "Operation not permitted"), None),
}


@pytest.mark.asyncio
@pytest.mark.parametrize(("answer", "expected"), OWNER_SAYS.values(), ids=OWNER_SAYS)
async def test_a_job_that_may_be_hidden_has_not_ended_before_its_owner_says_so(answer, expected):
    slurm = FakeSlurm(scontrol=GONE, sacct=said(""), squeue=answer)
    found = await confirm_end(slurm, "7", None, ANY, sees_all=False, owner=USER1)
    assert slurm.calls[-1][1] is USER1
    if expected is Hidden:
        assert isinstance(found, Hidden) and found.record.job_id == "7"
    else:
        assert (found and found.state.name) == expected


@pytest.mark.asyncio
async def test_without_an_owner_to_ask_a_job_that_may_be_hidden_stays_unknown():
    assert await confirm_end(FakeSlurm(scontrol=GONE, sacct=said("")), "7", None, sees_all=False) is None


@pytest.mark.asyncio
async def test_what_is_asked_as_the_owner_is_asked_as_the_owner_throughout():
    slurm = FakeSlurm(scontrol=GONE, sacct=said(""))
    found = await confirm_end(slurm, "7", None, sees_all=False, owner=USER1, as_owner=True)
    assert found.state.name == "GONE" and {user for _, user, _ in slurm.calls} == {USER1}
