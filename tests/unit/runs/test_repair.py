"""Journals of killed attempts, replayed when somebody asks for it."""

import json
import shutil
from pathlib import Path

import pytest

from siflab.errors import Conflict, NotFound
from siflab.runs import RunRequest, export, get_run, repair, rerun, submit
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


LINKS = ["attempts/1/output.ipynb", "attempts/1", "attempts", "run.json", "attempts/1/logs/run.log"]


@pytest.mark.parametrize("linked", LINKS)
@pytest.mark.parametrize("use", [repair, export, rerun])
def test_a_folder_from_elsewhere_has_no_links_in_it(viewer, slurm, run, tmp_path, linked, use):
    """What they lead to would be read, hashed, packed into an export, or replaced."""
    killed(run)
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    (copy / "checkpoints").symlink_to(tmp_path)  # as where the site has a scratch
    repair(viewer, copy, force=True)
    target = copy / linked
    target.parent.mkdir(parents=True, exist_ok=True)
    mine = tmp_path / "mine"
    if target.exists():
        target.rename(mine)
    else:
        mine.write_text("a key")
    target.symlink_to(mine)
    with pytest.raises(Conflict) as caught:
        use(viewer, copy)
    assert str(target) in caught.value.message.en and str(target) in caught.value.message.zh


def test_who_looks_at_a_run_writes_through_no_link(viewer, slurm, run, tmp_path):
    killed(run)
    slurm.accounted("42", "FAILED", code="9:0")
    attempt, elsewhere = Path(run.folder) / "attempts" / "1", tmp_path / "mine"
    attempt.rename(elsewhere)
    attempt.symlink_to(elsewhere)
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir() if path.is_file()}
    assert get_run(viewer, run.id).state == "failed"
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir() if path.is_file()} == before
