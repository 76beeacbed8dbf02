"""The state of a run: a table of what Slurm says, what the attempt left, and what it comes to."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest

from siflab.inside import Failure
from siflab.runs import get_run, list_runs, submit
from siflab.runs.folder import RunFolder
from tests.unit.runs.attempt_files import begin, end, just_now
from tests.unit.runs.fake_slurm import NEVER_RAN, UNREACHABLE, VERSIONS, FakeSlurm, failing


@pytest.fixture(params=VERSIONS)
def slurm(request):
    return FakeSlurm(version=request.param)


@pytest.fixture
def run(viewer, request_for):
    return submit(viewer, request_for())


QUEUED = [
    ("PENDING", "Resources", "pending", "no node that fits is free yet"),
    ("PENDING", "ReqNodeNotAvail, UnavailableNodes:gpu02", "pending", "gpu02"),
    ("CONFIGURING", "None", "pending", ""),
    ("REQUEUE_HOLD", "JobHeldUser", "pending", "scontrol release"),
    ("RUNNING", "None", "running", ""),
    ("SUSPENDED", "None", "running", "suspended"),
    ("COMPLETING", "None", "completing", ""),
    ("SOMETHING_NEW", "None", "unknown", "SOMETHING_NEW"),
]


@pytest.mark.parametrize(
    ("state", "reason", "expected", "words"), QUEUED, ids=[row[0] + " " + row[1] for row in QUEUED]
)
def test_a_job_in_the_queue(viewer, slurm, run, state, reason, expected, words):
    slurm.queued("42", state, reason=reason)
    seen = get_run(viewer, run.id)
    assert seen.state == expected
    assert words in (seen.reason.en if seen.reason else "")
    assert slurm.count("sacct") == 0


OVER = [
    # Slurm's state, exit code, runner's status, runner's code, signal -> state, words
    ("COMPLETED", "0:0", "completed", 0, None, "completed", ""),
    ("FAILED", "1:0", "failed", 1, None, "failed", "it failed"),
    ("FAILED", "3:0", "dead_kernel", 3, 9, "failed", "it dead_kernel"),
    ("FAILED", "5:0", "stopped", 5, 12, "timeout", "more time"),
    ("FAILED", "5:0", "stopped", 5, 15, "failed", "it stopped"),
    ("COMPLETED", "0:0", "failed", 1, None, "failed", "it failed"),
    ("FAILED", "1:0", "completed", 0, None, "failed", "All cells ran, but Slurm"),
    ("TIMEOUT", "0:0", "stopped", 5, 15, "timeout", "more time"),
    ("DEADLINE", "0:0", "stopped", 5, 15, "timeout", "more time"),
    ("CANCELLED by 1001", "0:15", "stopped", 5, 15, "cancelled", "cancelled"),
    ("OUT_OF_MEMORY", "0:125", "dead_kernel", 3, 9, "out_of_memory", "more memory"),
    ("OUT_OF_MEMORY", "0:125", "completed", 0, None, "out_of_memory", "more memory"),
    ("PREEMPTED", "0:15", "stopped", 5, 15, "cancelled", "higher priority"),
    ("BOOT_FAIL", "0:0", None, 0, None, "node_fail", "submit it again"),
    ("NODE_FAIL", "0:0", None, 0, None, "node_fail", "submit it again"),
    ("NODE_FAIL", "1:0", None, 0, None, "node_fail", "submit it again"),
    ("COMPLETED", "0:0", None, 0, None, "failed", "left no result"),
    ("FAILED", "76:0", None, 76, None, "failed", "exit code 76"),
]


@pytest.mark.parametrize("case", OVER, ids=[f"{row[0]} {row[1]} {row[2]}" for row in OVER])
def test_a_job_that_is_over(viewer, slurm, run, case):
    state, code, status, exit_code, signal, expected, words = case
    folder = begin(run.folder, "42")
    end(folder, status or "", code=exit_code, signal=signal, result=status is not None)
    slurm.accounted("42", state, code)
    seen = get_run(viewer, run.id)
    assert seen.state == expected
    assert words in (seen.reason.en if seen.reason else "")
    assert (seen.reason is None) == (expected == "completed")
    assert (seen.node, seen.attempts) == ("gpu01", 1)
    assert seen.started_at is not None and seen.ended_at is not None
    before = slurm.count("sacct")
    assert get_run(viewer, run.id) == seen
    assert slurm.count("sacct") == before, "a final state is kept"


@pytest.mark.parametrize(
    ("problem", "code", "words"),
    [("no-image", 73, "image"), ("no-bind", 74, "does not exist"), ("no-container", 75, "did not start")],
)
def test_what_job_sh_found_is_said(viewer, slurm, run, problem, code, words):
    end(begin(run.folder, "42"), code=code, problem=problem, result=False)
    slurm.accounted("42", "FAILED", f"{code}:0")
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.exit_code) == ("failed", code)
    assert words in seen.reason.en


def test_a_node_that_does_not_have_the_folder_is_named(viewer, slurm, run):
    slurm.accounted("42", "FAILED", "0:53")
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.node, seen.attempts) == ("failed", "gpu01", 0)
    assert "mounted" in seen.reason.en


def test_a_step_that_ran_out_of_memory_makes_the_job_so(viewer, slurm, run):
    end(begin(run.folder, "42"), "dead_kernel", code=3, signal=9)
    slurm.accounted("42", "FAILED", "3:0", steps=(("batch", "FAILED", "3:0"), ("0", "OUT_OF_MEMORY", "0:125")))
    assert get_run(viewer, run.id).state == "out_of_memory"


def test_where_it_failed_is_told(viewer, slurm, run):
    error = Failure("ValueError", "boom", 4, 3, 2, "Traceback ...")
    end(begin(run.folder, "42"), "failed", code=1, error=error)
    slurm.accounted("42", "FAILED", "1:0")
    expected = {"ename": "ValueError", "evalue": "boom", "cell": 4, "cell_number": 3, "line": 2, "rank": None}
    assert get_run(viewer, run.id).error == expected
    assert get_run(viewer, run.id).error == expected, "and from what was kept"


def test_cancelled_before_it_began(viewer, slurm, run):
    slurm.accounted("42", "CANCELLED by 1001", nodes="None assigned")
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.attempts, seen.progress, seen.node, seen.started_at) == ("cancelled", 0, None, None, None)
    assert NEVER_RAN[slurm.version]


def test_a_result_may_be_seen_a_moment_after_the_end(viewer, slurm, run):
    """A network file system shows new names late: `failed` would be said too soon."""
    folder = begin(run.folder, "42")
    slurm.accounted("42", "COMPLETED", end=just_now())
    assert get_run(viewer, run.id).state == "completing"
    end(folder)
    assert get_run(viewer, run.id).state == "completed"


def test_a_reason_may_be_seen_a_moment_after_the_end(viewer, slurm, run):
    folder = begin(run.folder, "42")
    slurm.accounted("42", "FAILED", "5:0", end=just_now())
    assert get_run(viewer, run.id).state == "failed"
    end(folder, "stopped", code=5, signal=12)
    assert get_run(viewer, run.id).state == "timeout", "and until then nothing was kept"


def test_accounting_may_lag(viewer, slurm, run):
    end(begin(run.folder, "42"))
    slurm.queued("42", "COMPLETED")
    seen = get_run(viewer, run.id)
    assert seen.state == "completed"
    assert not RunFolder(Path(run.folder)).status.exists() or seen.exit_code == 0


def test_progress_while_it_runs(viewer, slurm, run):
    begin(run.folder, "42", cells=7, done=3)
    slurm.queued("42", "RUNNING")
    seen = get_run(viewer, run.id)
    assert seen.progress["cells_total"] == 7
    assert (seen.progress["cells_done"], seen.progress["current_cell"]) == (3, 4)
    assert seen.output.endswith("/attempts/1/output.ipynb")


def test_the_result_of_an_earlier_job_is_not_taken_for_this_ones(viewer, slurm, run):
    end(begin(run.folder, "42"))
    slurm.accounted("42", "COMPLETED")
    assert get_run(viewer, run.id).state == "completed"
    slurm.queued("50", "RUNNING", comment=f"siflab-run:{run.id}")  # sbatch job.sh, by hand
    again = get_run(viewer, run.id)
    assert (again.state, again.job_id) == ("running", "50")
    slurm.accounted("50", "FAILED", "71:0")
    begin(run.folder, "50", number=2)
    end(RunFolder(Path(run.folder)), number=2, code=71, problem="no-image", result=False)
    failed = get_run(viewer, run.id)
    assert (failed.state, failed.attempts, failed.job_id) == ("failed", 2, "50")


def test_nor_when_the_later_job_never_began(viewer, slurm, run):
    end(begin(run.folder, "42"))
    slurm.accounted("42", "COMPLETED")
    slurm.queued("50", "PENDING", comment=f"siflab-run:{run.id}")
    slurm.accounted("50", "COMPLETED")
    slurm.queued("50", "COMPLETED", comment=f"siflab-run:{run.id}")
    seen = get_run(viewer, run.id)
    assert (seen.job_id, seen.state) == ("50", "failed")
    assert "left no result" in seen.reason.en


def test_slurm_out_of_reach_leaves_it_unknown_and_what_is_over_over(viewer, slurm, run, request_for):
    other = submit(viewer, request_for("other.ipynb"))
    end(begin(run.folder, "42"))
    slurm.accounted("42", "COMPLETED")
    list_runs(viewer)
    slurm.answers["squeue"] = UNREACHABLE
    found = list_runs(viewer)
    assert {seen.id: seen.state for seen in found.runs} == {run.id: "completed", other.id: "unknown"}
    assert not found.reachable and "cannot be reached" in found.message.en
    assert found.as_dict()["slurm"]["reachable"] is False


@pytest.mark.parametrize("answer", [failing("squeue: error: Invalid user: user1\n"), failing("", 139)])
def test_an_answer_that_proves_nothing_is_none(viewer, slurm, run, answer):
    slurm.answers["squeue"] = answer
    assert get_run(viewer, run.id).state == "unknown"
    del slurm.answers["squeue"]
    assert get_run(viewer, run.id).state == "pending"


def test_sacct_out_of_reach_leaves_those_that_left_the_queue_unknown(viewer, slurm, run):
    slurm.queue.clear()
    slurm.answers["sacct"] = failing(
        "sacct: error: slurm_persist_conn_open_without_init: failed to open persistent connection: Connection refused\n"
    )
    found = list_runs(viewer)
    assert [seen.state for seen in found.runs] == ["unknown"]
    assert found.reachable


@pytest.mark.parametrize("accounting", ["no record", "no accounting"])
@pytest.mark.parametrize(
    ("code", "status", "expected"), [(0, "completed", "completed"), (1, "failed", "failed"), (0, None, "failed")]
)
def test_when_slurm_has_forgotten_the_job_the_last_word_of_job_sh_counts(
    viewer, slurm, run, accounting, code, status, expected
):
    end(begin(run.folder, "42"), status or "", code=code, result=status is not None)
    slurm.queue.clear()
    if accounting == "no accounting":
        slurm.answers["sacct"] = failing("Slurm accounting storage is disabled\n")
    assert get_run(viewer, run.id).state == expected


def test_without_any_last_word_it_stays_unknown(viewer, slurm, run):
    begin(run.folder, "42")
    slurm.queue.clear()
    seen = get_run(viewer, run.id)
    assert seen.state == "unknown"
    assert "no record" in seen.reason.en


def test_a_job_that_slurm_never_took_is_called_so_after_a_while(viewer, slurm, run):
    from siflab.runs.evidence import Evidence
    from siflab.runs.status import Traces, derive

    now = datetime.now().astimezone()
    young, old = Traces(None, now - timedelta(minutes=1)), Traces(None, now - timedelta(minutes=6))
    assert derive(young, Evidence(), now).state == "submitting"
    assert derive(old, Evidence(), now).state == "failed"
