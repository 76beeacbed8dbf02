"""Journals of killed attempts, replayed when somebody asks for it."""

import json
import shutil
from pathlib import Path

import pytest

from siflab.errors import Conflict, NotFound
from siflab.runs import RunRequest, repair, submit
from tests.unit.extension.openapi_contract import Contract
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import UNREACHABLE
from tests.unit.runs.test_recovery import killed


@pytest.fixture
def run(viewer, notebook):
    return submit(viewer, RunRequest(path=str(notebook("t.ipynb", "print(1)", "print(2)", "print(3)")), profile="a100"))


def test_what_was_killed_and_what_was_whole(viewer, slurm, run):
    folder = killed(run)
    end(begin(run.folder, "42", number=2), number=2)
    slurm.accounted("42", "COMPLETED")
    done = repair(viewer, run.id)
    first, second = done.attempts
    assert (first.state, first.cells_done, first.cells_total, first.cell_number) == ("replayed", 1, 3, 2)
    assert "cell 2" in first.text.en and "第 2 个单元格" in first.text.zh
    assert second.state == "whole"
    folder.attempt(1).output.write_text("damaged since")
    assert repair(viewer, run.id).attempts[0].state == "failed"
    folder.attempt(1).output.unlink()
    assert repair(viewer, run.id).attempts[0].state == "replayed", "it is replayed anew, not only looked up"
    assert json.loads(folder.attempt(1).output.read_bytes())["metadata"]["siflab"]["recovered"] is True
    Contract().check_answer("/runs/{id}/repair", "post", 200, done.as_dict())


def test_not_while_the_job_may_still_write(viewer, slurm, run):
    killed(run, last_word=False)
    slurm.queued("42", "RUNNING")
    with pytest.raises(Conflict) as caught:
        repair(viewer, run.id)
    assert "--force" in caught.value.message.en
    slurm.answers["squeue"] = UNREACHABLE
    with pytest.raises(Conflict):
        repair(viewer, run.id)
    assert repair(viewer, run.id, force=True).attempts[0].state == "replayed"


def test_a_folder_elsewhere_and_one_that_never_began(viewer, slurm, run, tmp_path):
    slurm.accounted("42", "CANCELLED by 0", nodes="None assigned")
    assert repair(viewer, run.id).attempts == ()
    killed(run)
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    (copy / "attempts" / "2").mkdir()
    done = repair(viewer, copy, force=True)
    assert [one.state for one in done.attempts] == ["replayed", "empty"] and done.run_id == run.id
    with pytest.raises(NotFound):
        repair(viewer, tmp_path)


def test_nothing_is_written_through_a_link_or_without_a_journal(viewer, slurm, run, tmp_path):
    """A folder that somebody else packed may hold anything."""
    slurm.accounted("42", "CANCELLED by 0", nodes="None assigned")
    elsewhere = tmp_path / "mine"
    elsewhere.mkdir()
    notebook = (Path(run.folder) / "input.ipynb").read_bytes()
    for name in ("output.ipynb", "outputs.jsonl"):
        (elsewhere / name).write_bytes(notebook)
    (Path(run.folder) / "attempts").mkdir()
    (Path(run.folder) / "attempts" / "1").symlink_to(elsewhere)
    alone = Path(run.folder) / "attempts" / "2"
    alone.mkdir()
    (alone / "output.ipynb").write_bytes(notebook)
    assert [one.state for one in repair(viewer, run.id, force=True).attempts] == ["failed", "empty"]
    assert (elsewhere / "output.ipynb").read_bytes() == (alone / "output.ipynb").read_bytes() == notebook
