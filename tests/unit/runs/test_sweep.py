"""A sweep: its points, and the job arrays that they become."""

import json
from pathlib import Path

import pytest

from siflab.errors import Invalid
from siflab.runs import RunRequest, submit
from siflab.runs.request import Sweep
from siflab.runs.sweep import chunks, points_of
from siflab.slurm.array_limits import ArrayLimits, parse_array_size
from tests.unit.notebook.documents import notebook as make_notebook
from tests.unit.runs.fake_slurm import done


@pytest.fixture
def tagged(tmp_path):
    cell = {"source": "rate = 0.1\nepochs = 1\nname = 'a'", "metadata": {"tags": ["parameters"]}}
    return make_notebook(tmp_path, cell, "print(rate)")


def points(tagged, **sweep):
    return points_of(RunRequest(path="/x.ipynb", profile="p", mode="sweep", sweep=Sweep(**sweep)), tagged)


GOOD = {
    "a grid": (
        {"grid": {"rate": [0.1, "1e-3"], "epochs": ["1", 2]}},
        [{"rate": 0.1, "epochs": 1}, {"rate": 0.1, "epochs": 2}, {"rate": 0.001, "epochs": 1}, {"rate": 0.001, "epochs": 2}],
    ),
    "a list": ({"points": [{"rate": 1}, {}]}, [{"rate": 1.0}, {}]),
    "a CSV": ({"csv": "rate,name\n0.1,7\n0.2,\n\n"}, [{"rate": 0.1, "name": "7"}, {"rate": 0.2}]),
    "from a spreadsheet": ({"csv": "\ufeffrate\tname\r\n0.1\ta, b\r\n"}, [{"rate": 0.1, "name": "a, b"}]),
    "semicolons": ({"csv": 'epochs;name\n3;"x;y"'}, [{"epochs": 3, "name": "x;y"}]),
}  # fmt: skip


@pytest.mark.parametrize("case", GOOD)
def test_points(tagged, case):
    given, expected = GOOD[case]
    assert points(tagged, **given) == expected


BAD = {
    "an unknown name": ({"grid": {"rat": [1]}}, ["sweep.grid.rat"]),
    "a wrong value": ({"grid": {"epochs": [1, "x"]}}, ["sweep.grid.epochs"]),
    "no values": ({"grid": {"rate": []}}, ["sweep.grid.rate"]),
    "no points": ({"points": []}, ["sweep"]),
    "an empty grid": ({"grid": {}}, ["sweep"]),
    "two bad points": ({"points": [{"epochs": "x"}, {"rate": 1}, {"rat": 1}]}, ["sweep.points.0.epochs", "sweep.points.2.rat"]),
    "a bad line": ({"csv": "rate,name\n0.1,a\nx,b"}, ["sweep.csv.3.rate"]),
    "a short line": ({"csv": "rate,name\n0.1"}, ["sweep.csv"]),
    "no names": ({"csv": "0.1,0.2\n1,2"}, ["sweep.csv"]),
    "a name twice": ({"csv": "rate,rate\n1,2"}, ["sweep.csv"]),
    "names alone": ({"csv": "rate"}, ["sweep"]),
    "a NUL": ({"csv": "rate\n\0"}, ["sweep.csv.2.rate"]),
    "more than can be": ({"grid": {"rate": list(range(1000)), "epochs": list(range(1000))}}, ["sweep"]),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_at_its_place(tagged, case):
    given, fields = BAD[case]
    with pytest.raises(Invalid) as caught:
        points(tagged, **given)
    assert [error.field for error in caught.value.errors] == fields
    assert all(error.message.zh != error.message.en for error in caught.value.errors)


@pytest.mark.parametrize(
    ("count", "size", "expected"),
    [(3, 1000, [(0, 3)]), (1000, 1000, [(0, 1000)]), (2001, 1000, [(0, 1000), (1000, 1000), (2000, 1)])],
)
def test_arrays_are_as_large_as_the_cluster_takes(count, size, expected):
    assert [(chunk.offset, chunk.count) for chunk in chunks(count, ArrayLimits(size))] == expected


@pytest.mark.parametrize("limits", [ArrayLimits(1000, 10, "MaxSubmitJobs of the account lab"), ArrayLimits(0)])
def test_what_cannot_be_submitted_is_refused_before_anything_is(limits):
    with pytest.raises(Invalid) as caught:
        chunks(11, limits)
    assert caught.value.errors[0].field == "sweep" and limits.because in caught.value.errors[0].message.en


@pytest.mark.parametrize(
    ("config", "size"), [("MaxArraySize            = 5\n", 4), ("MaxArraySize = 0\n", 0), ("", 1000)]
)
def test_the_highest_index_is_one_less(config, size):
    assert parse_array_size(config) == size


@pytest.fixture
def sweep_of(viewer, slurm, notebook):
    slurm.answers["scontrol"] = lambda argv, stdin: done(argv, "MaxArraySize = 4\nClusterName = Alpha\n")
    slurm.answers["sacctmgr"] = lambda argv, stdin: done(argv, "lab||50\n" if "association" in argv else "normal|\n")
    path = notebook("train.ipynb")
    document = json.loads(path.read_text())
    document["cells"][0].update(source="rate = 1", metadata={"tags": ["parameters"]})
    path.write_text(json.dumps(document))

    def make(count, **more):
        sweep = Sweep(grid={"rate": list(range(count))}, at_once=2)
        return submit(viewer, RunRequest(path=str(path), profile="a100", mode="sweep", sweep=sweep, **more))

    return make


def test_one_sbatch_for_all_points(viewer, slurm, sweep_of):
    run = sweep_of(3)
    assert slurm.count("sbatch") == 1 and "#SBATCH --array=0-2%2\n" in slurm.scripts[0]
    folder = Path(run.folder)
    told = json.loads((folder / "points.json").read_text())["points"]
    assert told == [{"number": number, "parameters": {"rate": number}} for number in range(3)]
    submission = json.loads((folder / "submission.json").read_text())
    assert submission["arrays"] == [{"job_id": "42", "offset": 0, "points": 3}]


def test_a_sweep_that_is_larger_than_an_array_comes_in_parts_one_after_the_other(viewer, slurm, sweep_of):
    run = sweep_of(8)
    calls = [argv for argv in slurm.asked if argv[0] == "sbatch"]
    assert [argv[2:] for argv in calls] == [[], ["--dependency=afterany:42"], ["--dependency=afterany:43"]]
    assert ["--array=0-2%2" in slurm.scripts[0], "--array=0-1%2" in slurm.scripts[2]] == [True, True]
    assert "point=$((${SLURM_ARRAY_TASK_ID:?this is a job array: submit it whole} + ${1:-6}))" in slurm.scripts[2]
    assert sorted(path.name for path in Path(run.folder).glob("job*.sh")) == ["job-2.sh", "job-3.sh", "job.sh"]


def test_nothing_is_left_of_a_part_that_slurm_refuses(viewer, slurm, sweep_of):
    answers = [done(["sbatch"], "42\n"), done(["sbatch"], "", "sbatch: error: no\n", 1)]
    slurm.answers["sbatch"] = lambda argv, stdin: answers.pop(0)
    with pytest.raises(Exception, match="did not take"):
        sweep_of(6)
    assert ["scancel", "42"] in slurm.asked
    assert list(Path(viewer.runs_root()).iterdir()) == []


def test_too_many_jobs_for_the_association(viewer, slurm, sweep_of):
    with pytest.raises(Invalid, match="MaxSubmitJobs of the account lab"):
        sweep_of(51)
    assert slurm.count("sbatch") == 0 and not Path(viewer.runs_root()).exists()
