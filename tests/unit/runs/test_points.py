"""The points of a sweep: each read as a run is, the whole from all of them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from siflab.errors import Conflict, NotFound
from siflab.inside import AttemptFolder
from siflab.runs import RunRequest, cancel, get_run, list_points, list_runs, rerun_failed, submit
from siflab.runs.point_table import PointTable
from siflab.runs.points import Point, recorded, summary
from siflab.runs.request import Sweep
from siflab.slurm.records import SEPARATOR
from tests.unit.runs.fake_slurm import STARTED, done


@pytest.fixture
def sweep(viewer, slurm, notebook):
    slurm.answers["scontrol"] = lambda argv, stdin: done(argv, "MaxArraySize = 1001\n")
    slurm.answers["sacctmgr"] = lambda argv, stdin: done(argv, "")
    path = notebook("train.ipynb")
    document = json.loads(path.read_text())
    document["cells"][0].update(source="rate = 1", metadata={"tags": ["parameters"]})
    path.write_text(json.dumps(document))
    run = submit(
        viewer, RunRequest(path=str(path), profile="a100", mode="sweep", sweep=Sweep(grid={"rate": [1, 2, 3]}))
    )
    slurm.queue.clear()
    found = Elements(run, slurm)
    found.grows_old()
    return found


class Elements:
    """The elements of the array 42 in a fake Slurm; their own job ids are 50, 51, 52."""

    def __init__(self, run, slurm):
        self.id, self.folder, self.slurm = run.id, Path(run.folder), slurm

    def grows_old(self):
        submission = self.folder / "submission.json"
        about = json.loads(submission.read_text())
        submission.write_text(json.dumps({**about, "requested_at": "2026-12-01T03:00:00+00:00"}))

    def queued(self, task, state, array="42", job=None):
        job = job or str(50 + task)
        host = "n/a" if state == "PENDING" else "gpu01"
        row = [job, array, str(task), "user1", state, "None", host, STARTED, "N/A", STARTED, "29:50", "gpu-a100", "30:00",
               "gres:gpu:1", "train", f"siflab-run:{self.id}"]  # fmt: skip
        self.slurm.queue[job] = SEPARATOR.join(row)

    def began(self, task, number=1, job=None):
        attempt = AttemptFolder(self.folder, number, task)
        attempt.make()
        about = {"job_id": job or str(50 + task), "node": "gpu01", "restart_count": 0, "started_at": f"{STARTED}+00:00"}
        (attempt.folder / "job.json").write_text(json.dumps(about))
        return attempt

    def ended(self, task, status="completed", code=0, number=1, job=None, **values):
        attempt, job = self.began(task, number, job), job or str(50 + task)
        result = {"status": status, "exit_code": code, "started_at": f"{STARTED}+00:00", "ended_at": f"{STARTED}+00:00",
                  "cells_total": 1, "cells_done": 1}  # fmt: skip
        (attempt.folder / "result.json").write_text(json.dumps(result))
        (attempt.folder / "end.json").write_text(
            json.dumps({"exit_code": code, "problem": "", "ended_at": f"{STARTED}+00:00"})
        )
        attempt.metrics.write_text("".join(json.dumps({"at": "x", "values": {k: v}}) + "\n" for k, v in values.items()))
        self.slurm.accounted(job, "COMPLETED" if code == 0 else "FAILED", f"{code}:0")


def states(viewer, sweep):
    return [point.state for point in list_points(viewer, sweep.id).points]


def test_points_as_they_come_and_go(viewer, slurm, sweep):
    for task in range(3):
        sweep.queued(task, "PENDING")
    assert states(viewer, sweep) == ["pending"] * 3
    assert get_run(viewer, sweep.id).state == "pending"
    sweep.queued(0, "RUNNING")
    sweep.began(0)
    run = get_run(viewer, sweep.id)
    assert (run.state, run.points) == ("running", {"running": 1, "pending": 2})
    sweep.ended(0, loss=0.5)
    sweep.ended(1, "failed", 1, loss=0.7)
    table = list_points(viewer, sweep.id)
    assert [point.state for point in table.points] == ["completed", "failed", "pending"]
    assert [point.values for point in table.points] == [{"loss": 0.5}, {"loss": 0.7}, {}]
    run = get_run(viewer, sweep.id)
    assert run.state == "running", "a point waits, others are done"
    assert "1 of 3 points completed" in run.reason.en and "1 failed" in run.reason.en
    slurm.queue.clear()  # an administrator cancelled what waited
    run = get_run(viewer, sweep.id)
    assert run.state == "failed" and run.ended_at is not None
    assert [(point.state, point.attempts) for point in list_points(viewer, sweep.id).points][2] == ("cancelled", 0)


def test_what_is_known_of_a_point_is_asked_once(viewer, slurm, sweep):
    sweep.ended(0)
    sweep.ended(1)
    sweep.queued(2, "RUNNING")
    sweep.began(2)
    assert states(viewer, sweep) == ["completed", "completed", "running"]
    slurm.asked.clear()
    assert states(viewer, sweep) == ["completed", "completed", "running"]
    assert slurm.count("sacct") == 0
    sweep.ended(2)
    assert get_run(viewer, sweep.id).state == "completed"
    slurm.asked.clear()
    assert [run.state for run in list_runs(viewer).runs] == ["completed"] and slurm.count("sacct") == 0
    assert list_runs(viewer).runs[0].points == {"completed": 3}


def test_only_what_failed_runs_again(viewer, slurm, sweep):
    sweep.ended(0)
    sweep.ended(1, "failed", 1)
    sweep.ended(2, "stopped", 5)
    get_run(viewer, sweep.id)
    slurm.answers["sbatch"] = lambda argv, stdin: done(argv, "60\n")
    rerun_failed(viewer, sweep.id)
    sweep.grows_old()
    assert ["sbatch", "--parsable", "--array=1,2"] in slurm.asked
    sweep.queued(1, "RUNNING", array="60", job="61")
    sweep.queued(2, "PENDING", array="60", job="62")
    assert states(viewer, sweep) == ["completed", "running", "pending"]
    with pytest.raises(Conflict):
        rerun_failed(viewer, sweep.id)
    sweep.ended(1, number=2, job="61")
    sweep.ended(2, number=2, job="62")
    assert states(viewer, sweep) == ["completed"] * 3 and get_run(viewer, sweep.id).state == "completed"
    assert [point.attempts for point in list_points(viewer, sweep.id).points] == [1, 2, 2]
    with pytest.raises(Conflict, match="no point has failed"):
        rerun_failed(viewer, sweep.id)


def test_cancelling_takes_every_array(viewer, slurm, sweep):
    sweep.queued(0, "PENDING")
    slurm.answers["scancel"] = lambda argv, stdin: done(argv)
    cancel(viewer, sweep.id)
    assert ["scancel", "42"] in slurm.asked


def test_slurm_out_of_reach_changes_nothing(viewer, slurm, sweep):
    sweep.ended(0)
    slurm.answers["squeue"] = lambda argv, stdin: done(argv, "", "slurm_load_jobs error: Unable to contact", 1)
    assert set(states(viewer, sweep)) == {"unknown"}
    assert not (sweep.folder / "points-status.json").exists()


def test_a_run_that_is_no_sweep_has_no_points(viewer, request_for):
    with pytest.raises(NotFound, match="no sweep"):
        list_points(viewer, submit(viewer, request_for()).id)


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"completed": 3}, "completed"),
        ({"completed": 3, "running": 1}, "running"),
        ({"pending": 3}, "pending"),
        ({"completed": 1, "pending": 3}, "running"),
        ({"completed": 1, "failed": 1, "cancelled": 1}, "failed"),
        ({"completed": 1, "unknown": 1}, "unknown"),
        ({}, "unknown"),
    ],
)
def test_the_state_of_the_whole(counts, state):
    assert summary(Counter(counts)) == state


POINTS = [
    Point(0, {"rate": 0.1, "name": "b"}, "completed", seconds=3.0, values={"loss": 0.5}),
    Point(1, {"rate": 0.2, "name": "=1+1"}, "failed", seconds=1.0),
    Point(2, {"rate": 0.05, "sizes": [1, 2]}, "completed", values={"loss": 0.25}),
]


@pytest.mark.parametrize(
    ("column", "descending", "order"),
    [
        ("loss", False, [2, 0, 1]),
        ("loss", True, [0, 2, 1]),
        ("rate", False, [2, 0, 1]),
        ("seconds", True, [0, 1, 2]),
        ("name", False, [1, 0, 2]),
    ],
)
def test_sorted(column, descending, order):
    assert [point.number for point in PointTable("r", POINTS).sorted_by(column, descending).points] == order


def test_a_column_that_is_not_there():
    with pytest.raises(NotFound, match="there are: number, state"):
        PointTable("r", POINTS).sorted_by("los")


def test_csv():
    lines = PointTable("r", POINTS).as_csv().splitlines()
    assert (
        lines[0] == "number,state,seconds,attempts,exit_code,parameter.rate,parameter.name,parameter.sizes,value.loss"
    )
    assert lines[2] == "1,failed,1.0,0,,0.2,'=1+1,,", "no formula for a spreadsheet"
    assert lines[3] == '2,completed,,0,,0.05,,"[1, 2]",0.25'


def test_the_last_value_of_each_name_counts_and_torn_lines_do_not(tmp_path):
    attempt = AttemptFolder(tmp_path, 1, 0)
    attempt.make()
    lines = [
        '{"values": {"loss": 1}}',
        '{"values": {"loss": 2, "acc": 0.5}}',
        '{"rank": 1, "values": {"loss": 9}}',
        '{"val',
    ]
    attempt.metrics.write_text("\n".join(lines))
    assert recorded(attempt) == {"loss": 2, "acc": 0.5}


def test_a_sweep_has_the_diagnosis_of_its_first_point_that_failed(viewer, slurm, sweep):
    sweep.ended(0)
    for task in (1, 2):
        sweep.ended(task, "failed", 1)
        folder = AttemptFolder(sweep.folder, 1, task)
        name = ("data", "model")[task - 1]
        error = {
            "ename": "FileNotFoundError",
            "evalue": f"[Errno 2] No such file or directory: '{name}'",
            "cell_number": 1,
        }
        result = json.loads(folder.result.read_text())
        folder.result.write_text(json.dumps({**result, "error": error}))
    seen = get_run(viewer, sweep.id)
    assert (seen.state, seen.diagnosis.cause, seen.diagnosis.changes) == ("failed", "missing_file", ())
    assert seen.diagnosis.message.en.startswith("Point 1 failed first. There is no file data in the job.")
    assert "--rerun-failed" in seen.diagnosis.message.zh
    viewer.memory.clear()
    slurm.asked.clear()
    assert get_run(viewer, sweep.id).diagnosis == seen.diagnosis
    assert [argv[0] for argv in slurm.asked] == ["squeue"], "it is kept"
