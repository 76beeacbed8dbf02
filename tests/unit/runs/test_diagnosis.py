"""The diagnosis of a run: from Slurm's word, the script's and the runner's, with what to change within the profile."""

import json
from pathlib import Path

import pytest

from siflab.cli.show import in_lines
from siflab.config import parse_site
from siflab.inside import Failure
from siflab.runs import RunRequest, get_run, list_runs, submit
from siflab.runs.diagnosing import CAUSES, Case, Diagnosis, diagnose, with_logs
from siflab.runs.folder import RunFolder
from tests.unit.extension.openapi_contract import Contract
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.test_recovery import killed

CONTRACT = Contract()
IPYTHON = (
    "OutOfMemoryError Traceback (most recent call last)\nCell In[3], line 2\n\nOutOfMemoryError: CUDA out of memory."
)


def failure(ename, evalue, traceback=""):
    return Failure(ename, evalue, 4, 3, 2, traceback)


ENDED = [
    # Slurm's state and exit code, runner's status, signal, error, problem -> cause, words
    ("OUT_OF_MEMORY", "0:125", "dead_kernel", 9, failure("DeadKernel", "killed"), "", "host_memory", "more memory than the 4 GB"),
    ("TIMEOUT", "0:0", "stopped", 15, None, "", "time_limit", "time limit of 2 h"),
    ("FAILED", "5:0", "stopped", 12, None, "", "time_limit", "siflab.checkpoint"),
    ("FAILED", "5:0", "stopped", 15, None, "", "stopped", "told to stop"),
    ("NODE_FAIL", "0:0", None, None, None, "", "node_failure", "Its node failed"),
    ("PREEMPTED", "0:15", "stopped", 15, None, "", "preemption", "gave way"),
    ("CANCELLED by 0", "0:15", "stopped", 15, None, "", "cancelled", "an administrator"),
    ("CANCELLED by 4000000", "0:15", "stopped", 15, None, "", "cancelled", "number 4000000"),
    ("FAILED", "1:0", "failed", None, failure("OutOfMemoryError", "CUDA out of memory."), "", "gpu_memory", "cell 3, line 2"),
    ("FAILED", "1:0", "failed", None, failure("ZeroDivisionError", "no MemoryError"), "", "user_exception", "no MemoryError"),
    ("FAILED", "1:0", "failed", None, failure("ModuleNotFoundError", "No module named 'timm'"), "", "missing_module", "timm"),
    ("FAILED", "1:0", "failed", None, failure("NotebookExit", "exit()"), "", "exit_called", "exit()"),
    ("FAILED", "3:0", "dead_kernel", 9, failure("DeadKernel", "killed"), "", "killed", "SIGKILL"),
    ("FAILED", "3:0", "dead_kernel", 11, failure("DeadKernel", "killed"), "", "crash", "SIGSEGV"),
    ("FAILED", "3:0", "dead_kernel", None, failure("DeadKernel", "ended"), "", "kernel_exited", "kernel.log"),
    ("FAILED", "3:0", "dead_kernel", 9, failure("DeadProcess", "Rank 1 was killed"), "", "killed", "SIGKILL"),
    ("FAILED", "3:0", "dead_kernel", None, failure("DeadProcess", "ended without a word"), "", "kernel_exited", "by itself"),
    ("FAILED", "4:0", "timeout", None, failure("CellTimeout", "longer"), "", "cell_timeout", "cell_timeout"),
    ("FAILED", "70:0", "internal", None, failure("DiskFull", "[Errno 28]"), "", "disk_full", "quota"),
    ("FAILED", "70:0", "internal", None, failure("CannotWrite", "[Errno 13] Permission denied: 'x'"), "", "permission", "ls -l"),
    ("FAILED", "70:0", "internal", None, failure("NoSuchKernel", "julia"), "", "image_unfit", "kernel"),
    ("FAILED", "73:0", None, None, None, "no-image", "image_broken", "image"),
    ("FAILED", "74:0", None, None, None, "no-bind", "bind", "folder"),
    ("FAILED", "75:0", None, None, None, "no-container", "container", "did not start"),
    ("FAILED", "77:0", None, None, None, "no-requeue", "no_requeue", "siflab resume"),
    ("FAILED", "78:0", None, None, None, "no-rendezvous", "rendezvous", "find each other"),
    ("FAILED", "79:0", None, None, None, "not-yours", "not_yours", "chown"),
    ("FAILED", "0:53", None, None, None, "", "no_log", "mounted"),
]  # fmt: skip


@pytest.fixture
def run(viewer, request_for):
    return submit(viewer, request_for())


@pytest.mark.parametrize("case", ENDED, ids=[f"{row[0]} {row[1]} {row[-2]}" for row in ENDED])
def test_why_it_ended(viewer, slurm, run, case):
    state, code, status, signal, error, problem, cause, words = case
    if cause != "no_log":
        folder = begin(run.folder, "42")
        number = int(code.partition(":")[0])
        end(folder, status or "", code=number, signal=signal, error=error, problem=problem, result=status is not None)
    slurm.accounted("42", state, code)
    seen = get_run(viewer, run.id)
    assert (seen.diagnosis.cause, seen.diagnosis.place.node) == (cause, "gpu01")
    assert words in seen.diagnosis.message.en
    assert seen.diagnosis.message.zh != seen.diagnosis.message.en
    CONTRACT.check_schema("Run", seen.as_dict())
    assert seen.diagnosis.message.en in in_lines(seen)


def test_what_completed_or_goes_on_has_none(viewer, slurm, run, request_for):
    other = submit(viewer, request_for("other.ipynb"))
    end(begin(run.folder, "42"))
    slurm.accounted("42", "COMPLETED")
    assert [seen.diagnosis for seen in list_runs(viewer).runs] == [None, None]
    slurm.queued("43", "RUNNING")
    assert get_run(viewer, other.id).diagnosis is None


def test_it_is_kept_and_read_once(viewer, slurm, run, monkeypatch):
    end(begin(run.folder, "42"), "failed", code=1, error=failure("OutOfMemoryError", "CUDA out of memory.", IPYTHON))
    slurm.accounted("42", "FAILED", "1:0")
    seen = get_run(viewer, run.id)
    monkeypatch.setattr("siflab.runs.reading.diagnosis_of", lambda *_: pytest.fail("it was kept"))
    viewer.memory.clear()
    assert get_run(viewer, run.id) == seen
    status = RunFolder(Path(run.folder)).status
    status.write_text(json.dumps({**json.loads(status.read_text()), "diagnosis": {"cause": 7}}))
    viewer.memory.clear()
    assert get_run(viewer, run.id).diagnosis is None


def test_a_killed_attempt_says_in_which_cell(viewer, slurm, notebook):
    run = submit(viewer, RunRequest(path=str(notebook("t.ipynb", "print(1)", "print(2)", "print(3)")), profile="a100"))
    killed(run)
    slurm.accounted("42", "FAILED", "76:0", steps=(("0", "OUT_OF_MEMORY", "0:125"),))
    told = get_run(viewer, run.id).diagnosis
    assert (told.cause, told.place.cell_number) == ("host_memory", 2)
    assert "86 MB were in use when Slurm last looked." in told.message.en
    assert "It was in cell 2 (gpu01)." in told.message.en and "第 2 个单元格（gpu01）" in told.message.zh


@pytest.mark.parametrize("reason", ["PartitionTimeLimit", "QOSMaxWallDurationPerJobLimit", "MaxMemPerLimit"])
def test_a_job_that_can_never_start(viewer, slurm, run, reason):
    slurm.queued("42", "PENDING", reason=reason)
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.diagnosis.cause) == ("pending", "never_starts")
    assert "will not start" in seen.diagnosis.message.en
    slurm.queued("42", "PENDING", reason="Priority")
    assert get_run(viewer, run.id).diagnosis is None


def site_with(site_data, **allow):
    data = json.loads(json.dumps(site_data))
    data["profiles"]["a100"]["allow"] = allow
    data["images"]["other"] = {**data["images"]["torch"], "title": "Other"}
    return parse_site(data)


ASKED = {"memory_mib": 32 * 1024, "time_seconds": 7200, "gpus": 0, "image": "torch"}
OFFERED = [
    # cause by state, what is used, allowed -> title, request, does the profile end
    ("out_of_memory", None, {"memory": "64G"}, "again with 48 GB", {"memory": "48G"}, False),
    ("out_of_memory", 50 * 1024, {"memory": "128G"}, "again with 63 GB", {"memory": "63G"}, False),
    ("out_of_memory", None, {"memory": "40G"}, "again with 40 GB", {"memory": "40G"}, True),
    ("out_of_memory", None, {"memory": "32G"}, None, None, True),
    ("out_of_memory", None, {}, None, None, True),
    ("timeout", None, {"time": "8:00:00"}, "again with 4 h and 3 attempts", {"time": "4:00:00", "attempts": 3}, False),
    ("timeout", None, {"time": "3:00:00"}, "again with 3 h and 3 attempts", {"time": "3:00:00", "attempts": 3}, True),
    ("timeout", None, {}, "again with 3 attempts", {"attempts": 3}, True),
    ("node_fail", None, {}, "again as it was", {}, False),
]


@pytest.mark.parametrize("case", OFFERED, ids=[f"{row[0]} {row[1]} {row[2]}" for row in OFFERED])
def test_what_is_offered_stays_within_the_profile(site_data, case):
    state, used, allow, title, request, ends = case
    told = diagnose(Case(state, used_mib=used, asked=ASKED), site_with(site_data, **allow), "a100")
    first = told.changes[0] if told.changes else None
    assert (first.title.en if first else None, dict(first.request) if first else None) == (title, request)
    assert ("The profile a100 ends at" in told.message.en) == ends == ("a100 的上限" in told.message.zh)


def test_more_attempts_than_three_are_not_taken_back(site_data):
    case = Case("timeout", asked=ASKED, attempts_asked=5)
    (change,) = diagnose(case, site_with(site_data, time="8:00:00"), "a100").changes
    assert change.request == {"time": "4:00:00"} and change.title.en == "again with 4 h"


def test_another_image_and_a_gpu_are_offered_where_the_profile_has_them(site_data):
    def offered(words, **allow):
        log = f"Traceback (most recent call last):\n  File\nRuntimeError: {words}\n"
        told = diagnose(Case("failed", log=log, asked=ASKED), site_with(site_data, **allow), "a100")
        return [dict(change.request) for change in told.changes]

    no_image = "CUDA error: no kernel image is available for execution on the device"
    assert offered(no_image, image=["other"]) == [{"image": "other"}]
    assert offered(no_image) == []
    assert offered("No CUDA GPUs are available", gpus=4) == [{"gpus": 1}]
    assert diagnose(Case("out_of_memory", asked=ASKED), site_with(site_data), "gone").changes == ()


def test_what_is_offered_can_be_asked_for(viewer, slurm, run, request_for):
    """The fields and notation are those of a request."""
    end(begin(run.folder, "42"), "stopped", code=5, signal=15)
    slurm.accounted("42", "TIMEOUT")
    (change,) = get_run(viewer, run.id).diagnosis.changes
    again = submit(viewer, request_for("again.ipynb", **change.request))
    assert again.resources["time_seconds"] == 4 * 3600


def test_logs_are_read_from_their_end_only(tmp_path):
    folder = begin_in(tmp_path)
    attempt = folder.attempt(1)
    attempt.run_log.write_text("first\n" + "x" * 99 + "\n" * 300_000 + "last\n")
    attempt.kernel_log.write_text("kernel\n")
    for rank in range(20):
        (attempt.run_log.parent / f"rank-{rank}.log").write_text(f"of {rank}\n" + "y\n" * 20_000)
    (attempt.run_log.parent / "rank-x.log").write_text("no rank\n")
    case = with_logs(Case("failed"), attempt, tmp_path / "gone-1.out")
    assert case.log.endswith("last\n") and "first" not in case.log
    assert "kernel\n" in case.around and "[rank3]: y" in case.around and "no rank" not in case.around
    assert len(case.log) + len(case.around) < 512 * 1024


def begin_in(path):
    folder = RunFolder(path)
    folder.input.write_text("{}")
    return begin(path, "42")


def test_a_damaged_folder_has_no_diagnosis_and_is_shown(viewer, slurm, run, monkeypatch):
    end(begin(run.folder, "42"), "failed", code=1)
    slurm.accounted("42", "FAILED", "1:0")
    monkeypatch.setattr("siflab.runs.diagnosis.with_logs", lambda *_: 1 / 0)
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.diagnosis) == ("failed", None)


def test_a_diagnosis_comes_back_as_it_was(site_data):
    for state in ("timeout", "out_of_memory", "failed", "cancelled"):
        told = diagnose(Case(state, asked=ASKED, log="x"), site_with(site_data, time="8:00:00"), "a100")
        assert Diagnosis.from_dict(json.loads(json.dumps(told.as_dict()))) == told
        assert told.cause in CAUSES
