"""What a job ended of: who is believed, and how it is told."""

import pytest

from siflab.slurm.records import ACCOUNTING_FIELDS, SEPARATOR
from siflab.slurm.states import state_info
from siflab_spawner.evidence import confirm_end, outcome_of_sacct, outcome_of_scontrol
from siflab_spawner.outcome import Outcome, in_words

from .conftest import FakeSlurm, said


def sacct(job="7", state="FAILED", code="1:0", reason="None"):
    fields = [job, "user1", state, code, reason, "gpu01", "2026-12-01T10:00:00", "2026-12-01T14:02:00",
              "2026-12-01T09:00:00", "02:00:00", ""]  # fmt: skip
    assert len(fields) == len(ACCOUNTING_FIELDS)
    return SEPARATOR.join(fields) + "\n"


SHOWN = "JobId=7 JobName=JobState=RUNNING UserId=user1(1) JobState={} Reason={} ExitCode={} TimeLimit=02:00:00 BatchHost=gpu01 EndTime=2026-12-01T14:02:00"

WORDS = [
    (Outcome("7", state_info("TIMEOUT"), time_limit="02:00:00"), "time limit of 02:00:00", "时间上限（02:00:00）"),
    (Outcome("7", state_info("OUT_OF_MEMORY")), "more memory than it asked for", "内存"),
    (Outcome("7", state_info("NODE_FAIL"), node="gpu02"), "node gpu02 failed", "节点 gpu02 故障"),
    (Outcome("7", state_info("CANCELLED"), cancelled_by=0), "cancelled by root", "操作者：root"),
    (Outcome("7", state_info("CANCELLED"), cancelled_by=4000000), "cancelled by uid 4000000", "uid 4000000"),
    (Outcome("7", state_info("CANCELLED")), "it was cancelled.", "已被取消"),
    (Outcome("7", state_info("PREEMPTED")), "higher priority", "抢占"),
    (Outcome("7", state_info("FAILED"), exit_code=3), "exit code 3", "退出码 3"),
    (Outcome("7", state_info("FAILED"), exit_code=34), "does not exist on the node", "节点上不存在"),
    (Outcome("7", state_info("FAILED"), exit_code=36), "container did not start", "容器未能启动"),
    (Outcome("7", state_info("FAILED"), signal=9), "killed by signal 9", "信号 9"),
    (Outcome("7", state_info("FAILED"), reason="{evil}"), "Slurm says {evil}", "{evil}"),
    (Outcome("7", state_info("COMPLETED")), "shut down", "已关闭"),
]


@pytest.mark.parametrize(("outcome", "en", "zh"), WORDS)
def test_it_says_what_happened_in_both_languages(outcome, en, zh):
    text = in_words(outcome)
    assert en in text.en and "Job 7 ended" in text.en and zh in text.zh
    assert (outcome.hub_status == 0) == (outcome.state.name == "COMPLETED")


@pytest.mark.parametrize(
    ("state", "code", "expected"),
    [
        ("TIMEOUT", "0:0", ("TIMEOUT", 0, 0)),
        ("FAILED", "34:0", ("FAILED", 34, 0)),
        ("OUT_OF_MEMORY", "0:125", ("OUT_OF_MEMORY", 0, 125)),
    ],
)
def test_scontrol_tells_state_and_exit_code(state, code, expected):
    outcome = outcome_of_scontrol(
        "7", SHOWN.format(state, "None", code).replace("JobName=JobState=RUNNING", "JobName=x")
    )
    assert (outcome.state.name, outcome.exit_code, outcome.signal) == expected
    assert outcome.time_limit == "02:00:00" and outcome.ended_at.hour == 14


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "COMPLETING", "SUSPENDED", "NEW_STATE"])
def test_a_living_job_has_no_outcome(state):
    assert outcome_of_scontrol("7", f"JobId=7 JobState={state} ExitCode=0:0") is None


SACCT = [
    (sacct(state="CANCELLED by 1001", code="0:0"), ("CANCELLED", 1001)),
    (sacct() + sacct("7.batch", "OUT_OF_MEMORY", "0:125"), ("OUT_OF_MEMORY", None)),
    (sacct("17") + sacct(state="TIMEOUT"), ("TIMEOUT", None)),
]


@pytest.mark.parametrize(("text", "expected"), SACCT)
def test_sacct_tells_who_and_which_step(text, expected):
    outcome = outcome_of_sacct("7", text)
    assert (outcome.state.name, outcome.cancelled_by) == expected


@pytest.mark.parametrize("text", ["", "garbage\n", sacct(state="RUNNING"), sacct("17"), sacct("7.batch")])
def test_sacct_without_an_end_of_this_job_proves_nothing(text):
    assert outcome_of_sacct("7", text) is None


@pytest.mark.asyncio
async def test_accounting_is_asked_only_where_it_knows_more():
    slurm = FakeSlurm(scontrol=said(SHOWN.format("TIMEOUT", "TimeLimit", "0:0"), name="scontrol"))
    assert (await confirm_end(slurm, "7", None)).state.name == "TIMEOUT"
    slurm = FakeSlurm(
        scontrol=said(SHOWN.format("CANCELLED", "None", "0:0"), name="scontrol"),
        sacct=said(sacct(state="CANCELLED by 0")),
    )
    assert (await confirm_end(slurm, "7", None)).cancelled_by == 0
