"""A job is submitted once: how it is marked, found again, and told apart from what others write."""

import re

import pytest

from siflab.errors import Invalid, SlurmRefused, SlurmUnreachable
from siflab.slurm.execute import Completed, PosixUser
from siflab_spawner.page.options import resources_of
from siflab_spawner.start import submission
from siflab_spawner.start.mark import mark, session_prefix
from siflab_spawner.start.submission import cancel_strays, find_job, sbatch_argv, submit

from .conftest import FakeSlurm, row, said

ALICE = PosixUser("user1", 1001, 1001, (1001,), "/home/user1", "/bin/bash")
PREFIX = session_prefix("here", "user1", "")
MARK = mark("here", "user1", "", "ab12")


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch):
    monkeypatch.setattr(submission, "_AGAIN", 0.001)
    monkeypatch.setattr(submission, "_LATE", 0.01)


def test_the_command(site):
    resources = resources_of(site, {"profile": "one", "gpus": 2}, [])
    argv = sbatch_argv(resources, comment=MARK, name="siflab-session", log_pattern="/h/%j.log", folder="/h")
    assert argv == [
        "sbatch", "--parsable", "--no-requeue", "--export=ALL", "--comment=siflab:here:user1::ab12",
        "--job-name=siflab-session", "--output=/h/%j.log", "--chdir=/h", "--cpus-per-task=4", "--gres=gpu:a100:2",
        "--mem=4G", "--nodes=1", "--ntasks-per-node=1", "--partition=gpu", "--time=2:00:00",
    ]  # fmt: skip


def test_what_is_not_set_is_left_out(site):
    argv = sbatch_argv(resources_of(site, {"profile": "cpu"}, []), comment="", name="x", log_pattern="y", folder="z")
    assert not any(re.match(r"--(gres|account|qos|reservation)", word) for word in argv)


@pytest.mark.parametrize(
    ("user", "server"),
    [("user1", ""), ("user1", "gpu"), ("a:b", "c"), ("a", "b:c"), ("al ice", "x|y"), ("用户", "服务器")],
)
def test_a_mark_belongs_to_one_session(user, server):
    text = mark("here", user, server, "s1")
    assert text.isascii() and text.count(":") == 4 and not re.search(r"[\s|]", text)
    assert text == session_prefix("here", user, server) + "s1"


QUEUES = [
    ("", None),
    (row("5", comment=MARK), "5"),
    (row("5", "PENDING", comment=MARK), "5"),
    (row("5", "COMPLETED", comment=MARK), None),
    (row("5", comment=mark("here", "user1", "", "other")), None),
    (row("5", comment=mark("there", "user1", "", "ab12")), None),
    (row("5", comment=mark("here", "user1", "gpu", "ab12")), None),
    (row("5", user="mallory", comment=MARK), None),
    (row("5", comment=mark("here", "user2", "", "ab12")) + row("6", comment=MARK), "6"),
    (row("5", comment="two\nlines") + row("6", comment=MARK), "6"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("uid", [0, 994])
@pytest.mark.parametrize(("queue", "found"), QUEUES)
async def test_a_job_is_found_by_mark_and_owner(queue, found, uid, monkeypatch):
    monkeypatch.setattr("siflab_spawner.start.submission.os.geteuid", lambda: uid)
    slurm = FakeSlurm(squeue=said(queue))
    assert await find_job(slurm, ALICE, PREFIX, "ab12") == found
    assert slurm.calls[0][0][-2:] == ["--user", "user1"]
    assert slurm.calls[0][1] is (ALICE if uid else None), "who sees it, whatever Slurm hides from the Hub's account"


@pytest.mark.asyncio
@pytest.mark.parametrize(
    "answer",
    [
        said(stderr="Unable to contact slurm controller", code=1),
        said("x\n"),
        said(code=3),
        said(row("5", comment=MARK)[:-9]),
        said("", stderr="squeue: error: No cluster 'other' known by database."),
    ],
)
async def test_no_answer_is_not_no_job(answer):
    with pytest.raises(SlurmUnreachable):
        await find_job(FakeSlurm(squeue=answer), ALICE, PREFIX, "ab12")


@pytest.mark.asyncio
async def test_what_was_left_behind_is_cancelled_as_the_user():
    slurm = FakeSlurm(
        squeue=said(row("5", comment=MARK) + row("6", user="mallory", comment=MARK) + row("7", comment="siflab-run:1")),
        scancel=said(name="scancel"),
    )
    assert await cancel_strays(slurm, ALICE, PREFIX) == ["5"]
    assert slurm.calls[-1][:2] == (["scancel", "5"], ALICE)


def sbatch(stdout="", stderr="", code=0):
    return said(stdout, stderr, code, name="sbatch")


@pytest.mark.asyncio
async def test_the_job_id_is_handed_on_and_the_script_goes_to_standard_input():
    slurm = FakeSlurm(sbatch=sbatch("12;cluster\n"))
    assert await submit(slurm, ALICE, ["sbatch"], "script", PREFIX, "ab12") == ("12", "cluster")
    assert slurm.calls == [(["sbatch"], ALICE, "script")]


LOST = [
    Completed(("sbatch",), 124, "", "no answer"),
    sbatch(stderr="sbatch: error: Batch job submission failed: Socket timed out on send/recv operation", code=1),
    sbatch("submitted, I think"),
]


@pytest.mark.asyncio
@pytest.mark.parametrize("answer", LOST)
async def test_a_lost_answer_is_looked_up_and_never_repeated(answer):
    queue = [said(stderr="Unable to contact slurm controller", code=1), said(""), said(row("12", comment=MARK))]
    slurm = FakeSlurm(sbatch=answer, squeue=queue)
    assert await submit(slurm, ALICE, ["sbatch"], "", PREFIX, "ab12") == ("12", "")
    assert len(slurm.named("sbatch")) == 1


@pytest.mark.asyncio
async def test_a_lost_answer_without_a_job_is_told():
    slurm = FakeSlurm(sbatch=LOST[1], squeue=said(""))
    with pytest.raises(SlurmUnreachable):
        await submit(slurm, ALICE, ["sbatch"], "", PREFIX, "ab12")


REFUSED = [
    (
        "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
        "time",
    ),
    (
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
        "account",
    ),
    (
        "sbatch: error: invalid partition specified: x\nsbatch: error: Batch job submission failed: Invalid partition name specified",
        "partition",
    ),
]


@pytest.mark.asyncio
@pytest.mark.parametrize(("words", "field"), REFUSED)
async def test_slurms_no_is_told_at_its_field(words, field):
    with pytest.raises(Invalid) as caught:
        await submit(FakeSlurm(sbatch=sbatch(stderr=words, code=1)), ALICE, ["sbatch"], "", PREFIX, "ab12")
    assert caught.value.errors[0].field == field


@pytest.mark.asyncio
async def test_slurms_no_without_a_field_is_told_as_it_is():
    with pytest.raises(SlurmRefused, match="some new words"):
        await submit(FakeSlurm(sbatch=sbatch(stderr="some new words", code=1)), ALICE, ["sbatch"], "", PREFIX, "ab12")
