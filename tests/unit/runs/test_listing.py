"""The list of runs: two questions to Slurm however many there are, and no folder that breaks it."""

import json
import shutil
from pathlib import Path

import pytest

from siflab.errors import Internal, NotFound, SlurmRefused
from siflab.runs import cancel, get_run, list_runs, submit
from siflab.runs.folder import RunFolder
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import failing


@pytest.fixture
def many(viewer, slurm, request_for):
    """Copies of one run that has completed, each a run of its own; gives their number."""

    def make(number: int) -> int:
        first = Path(submit(viewer, request_for()).folder)
        end(begin(first, "42"))
        slurm.accounted("42", "COMPLETED")
        (first / "runner.pyz").write_bytes(b"")
        letters = "abcdefghjkmnpqrstuvwxyz"
        for index in range(1, number):
            run_id = "".join(letters[(index // 23**place) % 23] for place in range(7)) + "2"
            copy = first.with_name(f"20261201-{index:06}_train_{run_id}")
            shutil.copytree(first, copy)
            job_id = str(1000 + index)
            (copy / "submission.json").write_text(json.dumps({"submit_id": run_id, "job_id": job_id}))
            (copy / "attempts/1/job.json").write_text(json.dumps({"job_id": job_id, "node": "gpu01"}))
            slurm.accounted(job_id, "COMPLETED")
        return number

    return make


def test_a_thousand_runs_are_two_questions_and_read_once(viewer, slurm, many, monkeypatch):
    number = many(1000)
    slurm.asked.clear()
    found = list_runs(viewer)
    assert len(found.runs) == number
    assert {run.state for run in found.runs} == {"completed"}
    assert (slurm.count("squeue"), slurm.count("sacct")) == (1, 2), "sacct is asked for 500 jobs at a time"

    slurm.asked.clear()
    assert list_runs(viewer).runs == found.runs
    monkeypatch.setattr("siflab.runs.reading.read_json", lambda path: pytest.fail(f"{path} was read before"))
    assert list_runs(viewer).runs == found.runs
    assert [argv[0] for argv in slurm.asked] == ["squeue", "squeue"]


def test_newest_first(viewer, many):
    many(5)
    names = [Path(run.folder).name for run in list_runs(viewer).runs]
    assert names == sorted(names, reverse=True)


DAMAGE = {
    "no request": lambda folder: folder.request.unlink(),
    "half a request": lambda folder: folder.request.write_text('{"id": '),
    "a list": lambda folder: folder.request.write_text("[]"),
    "other types": lambda folder: folder.request.write_text(
        '{"name": 7, "resources": "x", "source": [], "created_at": {}}'
    ),
    "no submission": lambda folder: folder.submission.unlink(),
    "odd submission": lambda folder: folder.submission.write_text('{"job_id": {}, "requested_at": 3}'),
    "not readable": lambda folder: folder.request.unlink() or folder.request.mkdir(),
    "empty": lambda folder: shutil.rmtree(folder.path) or folder.path.mkdir(),
    "odd attempts": lambda folder: (folder.attempts / "1x").mkdir(parents=True),
    "attempts is a file": lambda folder: folder.attempts.write_text(""),
    "odd status": lambda folder: folder.status.write_text('{"state": "gone", "attempt_numbers": []}'),
    "half a status": lambda folder: folder.status.write_text('{"sta'),
    "binary": lambda folder: folder.request.write_bytes(b"\xff\x00\xfe"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_folder_breaks_nothing(viewer, slurm, request_for, damage):
    good = submit(viewer, request_for("good.ipynb"))
    bad = submit(viewer, request_for("bad.ipynb"))
    DAMAGE[damage](RunFolder(Path(bad.folder)))
    found = list_runs(viewer)
    assert {run.id for run in found.runs} == {good.id, bad.id}
    assert next(run for run in found.runs if run.id == good.id).state == "pending"
    json.dumps(found.as_dict())


def test_other_things_in_the_folder_are_left_alone(viewer, request_for):
    run = submit(viewer, request_for())
    root = Path(viewer.runs_root())
    (root / "notes.txt").write_text("mine")
    (root / "20261201-000000_mine").mkdir()
    shutil.copytree(run.folder, root / f"copy of {Path(run.folder).name}")
    assert [seen.id for seen in list_runs(viewer).runs] == [run.id]


def test_no_such_run(viewer):
    for call in (get_run, cancel):
        with pytest.raises(NotFound) as caught:
            call(viewer, "nothing1")
        assert "siflab runs" in caught.value.message.en


def test_a_root_that_is_no_folder_is_no_runs(viewer):
    Path(viewer.runs_root()).write_text("")
    assert list_runs(viewer).runs == []


def test_a_root_that_cannot_be_read_is_said(viewer, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("siflab.runs.folder.os.scandir", refuse)
    with pytest.raises(Internal) as caught:
        list_runs(viewer)
    assert "Permission denied" in caught.value.message.en


def test_cancel_asks_slurm_once_and_an_ended_run_not_at_all(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    assert cancel(viewer, run.id).state == "cancelled"
    assert ["scancel", "42"] in slurm.asked
    assert cancel(viewer, run.id).state == "cancelled"
    assert slurm.count("scancel") == 1


@pytest.mark.parametrize("job", ["--user=user1", "-u", "42 43", "٤٢", "4" * 11, ["42"], {"a": 1}])
def test_a_job_id_out_of_a_folder_is_no_word_of_a_command(viewer, slurm, request_for, job):
    run = submit(viewer, request_for())
    path = Path(run.folder) / "submission.json"
    told = json.loads(path.read_text())
    path.write_text(json.dumps({**told, "arrays": [{"job_id": job}, job]}))
    cancel(viewer, run.id)
    assert [argv for argv in slurm.asked if argv[0] == "scancel"] == [["scancel", "42"]]


@pytest.mark.parametrize(
    ("stderr", "refused"),
    [
        ("scancel: error: Kill job error on job id 42: Job/step already completing or completed\n", False),
        ("scancel: error: Kill job error on job id 42: Job/step already completed\n", False),
        ("scancel: error: Kill job error on job id 42: Invalid job id specified\n", False),
        ("scancel: error: Kill job error on job id 42: Access/permission denied\n", True),
    ],
)
def test_cancelling_a_job_that_has_just_ended_is_no_error(viewer, slurm, request_for, stderr, refused):
    run = submit(viewer, request_for())
    slurm.answers["scancel"] = failing(stderr)
    if not refused:
        assert cancel(viewer, run.id).id == run.id
        return
    with pytest.raises(SlurmRefused) as caught:
        cancel(viewer, run.id)
    assert "permission denied" in caught.value.message.en
