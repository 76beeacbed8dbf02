"""An attempt that was killed: whoever looks first when the job is over replays its journal."""

import json
from pathlib import Path

from siflab.inside.journal import Journal
from siflab.inside.notebook import blank, read_notebook
from siflab.inside.saving import notebook_bytes
from siflab.runs import RunRequest, get_run, submit
from tests.unit.runs.attempt_files import begin, end


def killed(run, job_id="42", *, last_word=True):
    """An attempt whose runner was killed in its second cell, after it had printed."""
    folder = begin(run.folder, job_id, cells=3, done=1)
    attempt = folder.attempt(1)
    notebook = read_notebook(folder.input)
    blank(notebook)
    attempt.output.write_bytes(notebook_bytes(notebook))
    journal = Journal(attempt.journal)
    journal.mark("begin", version=1, run=run.id, attempt=1)
    journal.mark("start", 0)
    journal.mark("done", 0, status="done")
    journal.mark("start", 1)
    journal.close()
    if last_word:
        end(folder, code=76, problem="signal", result=False)
    return folder


def test_what_was_killed_is_recovered_and_says_where(viewer, slurm, notebook):
    run = submit(viewer, RunRequest(path=str(notebook("t.ipynb", "print(1)", "print(2)", "print(3)")), profile="a100"))
    folder = killed(run)
    slurm.accounted("42", "FAILED", "76:0")
    seen = get_run(viewer, run.id)
    assert seen.state == "failed"
    assert seen.reason.en.startswith("The process that runs the notebook was killed")
    assert seen.reason.en.endswith("It was in cell 2 then.") and "第 2 个单元格" in seen.reason.zh
    assert (seen.progress["cells_done"], seen.progress["cells_total"], seen.progress["current_cell"]) == (1, 3, None)
    recovered = json.loads(folder.attempt(1).output.read_bytes())
    assert recovered["metadata"]["siflab"]["recovered"] is True
    assert (folder.attempt(1).folder / "recovery.json").exists()


def test_an_earlier_attempt_that_was_lost_with_its_node_is_recovered_too(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    folder = killed(run, last_word=False)
    end(begin(run.folder, "42", number=2), number=2)
    slurm.accounted("42", "COMPLETED")
    seen = get_run(viewer, run.id)
    assert (seen.state, seen.attempts, seen.reason) == ("completed", 2, None)
    assert json.loads(folder.attempt(1).output.read_bytes())["metadata"]["siflab"]["recovered"] is True
    assert not (folder.attempt(2).folder / "recovery.json").exists()


def test_it_is_not_touched_while_the_job_lives_or_nothing_is_known(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    folder = killed(run, last_word=False)
    before = folder.attempt(1).output.read_bytes()
    slurm.queued("42", "RUNNING")
    get_run(viewer, run.id)
    slurm.queue.clear()
    get_run(viewer, run.id)
    assert folder.attempt(1).output.read_bytes() == before
    assert not (folder.attempt(1).folder / "recovery.json").exists()


def test_a_folder_that_cannot_be_written_is_still_shown(viewer, slurm, request_for, monkeypatch):
    run = submit(viewer, request_for())
    killed(run)
    slurm.accounted("42", "FAILED", "76:0")

    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("siflab.runs.reading.recover", refuse)
    monkeypatch.setattr("siflab.runs.reading.write_json", refuse)
    assert get_run(viewer, run.id).state == "failed"
    assert Path(run.folder).is_dir()
