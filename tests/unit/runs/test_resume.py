"""A run goes on in its own folder: one job, whoever presses how often."""

import os
import time
from pathlib import Path

import pytest

from siflab.errors import Conflict, SlurmRefused, SlurmUnreachable
from siflab.runs import get_run, resume, submit
from siflab.runs.folder import RunFolder, read_json
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import TIMED_OUT, UNREACHABLE, failing


@pytest.fixture
def run(viewer, slurm, request_for):
    """It has failed."""
    run = submit(viewer, request_for())
    end(begin(run.folder, "42"), "failed", code=1)
    slurm.accounted("42", "FAILED", "1:0")
    assert get_run(viewer, run.id).state == "failed"
    return run


def test_it_goes_on_with_the_same_script(viewer, slurm, run):
    script = RunFolder(Path(run.folder)).script
    script.write_text(script.read_text().replace("--mem=4G", "--mem=5G"))
    seen = resume(viewer, run.id)
    assert (seen.id, seen.state, seen.job_id, seen.attempts) == (run.id, "pending", "43", 1)
    assert slurm.scripts[-1] == script.read_text(), "also as it was edited"
    told = read_json(RunFolder(Path(run.folder)).submission)
    assert (told["job_id"], told["earlier_jobs"]) == ("43", ["42"])
    end(begin(run.folder, "43", number=2), number=2)
    slurm.accounted("43", "COMPLETED")
    done = get_run(viewer, run.id)
    assert (done.state, done.attempts, done.diagnosis) == ("completed", 2, None)


def test_only_what_is_over_and_not_complete(viewer, slurm, run):
    resume(viewer, run.id)
    with pytest.raises(Conflict) as caught:
        resume(viewer, run.id)
    assert "has not ended" in caught.value.message.en
    end(begin(run.folder, "43", number=2), number=2)
    slurm.accounted("43", "COMPLETED")
    with pytest.raises(Conflict) as caught:
        resume(viewer, run.id)
    assert "siflab rerun" in caught.value.message.en


def test_two_at_once_are_one_job(viewer, slurm, run):
    def meanwhile(argv, stdin):
        del slurm.answers["sbatch"]
        with pytest.raises(Conflict):
            resume(viewer, run.id)
        return slurm.run(argv, stdin=stdin)

    slurm.answers["sbatch"] = meanwhile
    assert resume(viewer, run.id).job_id == "43"
    assert len(slurm.scripts) == 2


def test_the_mark_of_a_killed_process_is_taken_over(viewer, run):
    mark = Path(run.folder) / ".resuming"
    mark.touch()
    with pytest.raises(Conflict):
        resume(viewer, run.id)
    old = time.time() - 300
    os.utime(mark, (old, old))
    assert resume(viewer, run.id).state == "pending"
    assert not mark.exists()


def test_when_slurm_says_no_or_nothing(viewer, slurm, run, monkeypatch):
    slurm.answers["sbatch"] = failing("sbatch: error: Batch job submission failed: Job violates accounting policy\n")
    with pytest.raises(SlurmRefused):
        resume(viewer, run.id)
    slurm.answers["sbatch"] = TIMED_OUT
    monkeypatch.setattr("siflab.runs.submission.LATE", 0.0)
    with pytest.raises(SlurmUnreachable) as caught:
        resume(viewer, run.id)
    assert "is kept" in caught.value.message.en
    slurm.answers["squeue"] = UNREACHABLE
    before = slurm.count("sbatch")
    with pytest.raises(SlurmUnreachable):
        resume(viewer, run.id)
    assert slurm.count("sbatch") == before, "whether another job of it lives cannot be told"
    del slurm.answers["squeue"]
    assert get_run(viewer, run.id).state == "failed"


def test_an_answer_that_was_lost(viewer, slurm, run):
    def lost(argv, stdin):
        del slurm.answers["sbatch"]
        slurm.run(argv, stdin=stdin)
        return TIMED_OUT

    slurm.answers["sbatch"] = lost
    assert resume(viewer, run.id).job_id == "43"
    assert len(slurm.scripts) == 2
