"""A job that Slurm starts again, and that ends before its new attempt has a folder: the one before explains nothing."""

from pathlib import Path

import pytest

from siflab.runs import get_run, submit
from siflab.runs.folder import RunFolder
from tests.unit.runs.attempt_files import begin, end

AGAIN, OVER = "2026-12-01T03:14:00", "2026-12-01T03:14:09"


@pytest.fixture(params=["stopped", "no result", "problem"])
def run(viewer, request_for, request):
    """Its first attempt is over, each time in another way."""
    run = submit(viewer, request_for())
    folder = begin(run.folder, "42")
    if request.param == "stopped":
        end(folder, "stopped", code=5, signal=12)
    elif request.param == "problem":
        end(folder, code=73, problem="no-image", result=False)
    return run


@pytest.mark.parametrize(
    ("state", "code", "expected", "words"),
    [
        ("FAILED", "71:0", "failed", "No folder could be made"),
        ("FAILED", "1:0", "failed", "exit code 1"),
        ("FAILED", "0:53", "failed", "could not open the job's log"),
        ("COMPLETED", "0:0", "failed", "left no result"),
    ],
)
def test_what_slurm_says_counts_alone(viewer, slurm, run, state, code, expected, words):
    slurm.accounted("42", state, code, start=AGAIN, end=OVER)
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.progress, seen.error) == (expected, None, None)
    assert words in seen.reason.en and "in cell" not in seen.reason.en and "image" not in seen.reason.en


def test_without_a_time_the_exit_code_tells_it(viewer, slurm, run):
    slurm.accounted("42", "FAILED", "71:0")
    assert "No folder could be made" in get_run(viewer, run.id).reason.en


def test_while_it_begins_again_there_is_no_progress(viewer, slurm, run):
    slurm.queued("42", "RUNNING", start=AGAIN)
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.progress) == ("running", None)


def test_an_attempt_of_the_newest_start_counts(viewer, slurm, run):
    end(begin(run.folder, "42", number=2), number=2)
    slurm.accounted("42", "COMPLETED")
    assert get_run(viewer, run.id).state == "completed"
    assert RunFolder(Path(run.folder)).attempt_numbers() == [1, 2]
