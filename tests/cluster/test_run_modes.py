"""Sweeps, scripts, parameters and attempts on the real cluster."""

import json
from pathlib import Path

import pytest

from tests.cluster.hub import USERS, slurm
from tests.cluster.person import PYTHON_OF_USERS, Person, site, texts, why_no_run

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_no_run() is not None, reason=str(why_no_run()))]
PARAMETERS = ("rate = 0.1\nname = 'a'", "parameters")


@pytest.fixture(scope="module")
def user1():
    person = Person(USERS[0], site())
    yield person
    person.leave()


def test_a_sweep_is_one_array_and_only_what_failed_runs_again(user1):
    source = user1.notebook(
        "sweep.ipynb",
        PARAMETERS,
        "import os, siflab\nassert rate < 0.3 or os.path.exists('mended'), rate\nsiflab.record(loss=rate * 2)\nprint(rate, name)",
    )
    run = user1.promote(source, "--sweep", "rate=0.1,0.2,0.3", "-p", "name=it's", "--at-once", "2", "--wait")
    assert (run["mode"], run["state"]) == ("sweep", "failed")
    assert run["points"] == {"completed": 2, "failed": 1}
    table = json.loads(user1.siflab("points", run["id"], "--sort", "loss", "--reverse", "--json").stdout)
    assert [(point["number"], point["parameters"], point["values"]) for point in table["points"]] == [
        (1, {"rate": 0.2}, {"loss": 0.4}), (0, {"rate": 0.1}, {"loss": 0.2}), (2, {"rate": 0.3}, {}),
    ]  # fmt: skip
    failed = table["points"][2]
    assert (failed["state"], failed["error"]["ename"]) == ("failed", "AssertionError")
    assert texts(json.loads(Path(table["points"][0]["output"]).read_text()), 2) == "0.2 it's\n"
    shown = user1.siflab("points", run["id"]).stdout
    assert "2 of 3 points completed, 1 failed" in shown

    (source.parent / "mended").touch()
    assert user1.siflab("points", run["id"], "--rerun-failed").returncode == 0
    run = user1.await_end(run["id"])
    assert (run["state"], run["points"]) == ("completed", {"completed": 3})
    lines = user1.siflab("points", run["id"], "--csv").stdout.splitlines()
    assert lines[0] == "number,state,seconds,attempts,exit_code,parameter.rate,value.loss" and lines[3].endswith(
        ",0.3,0.6"
    )
    assert lines[3].split(",")[3] == "2", "its second attempt"
    arrays = json.loads((Path(run["folder"]) / "submission.json").read_text())["arrays"]
    assert len(arrays) == 2, "one sbatch for all points, one for the failed one"


def test_a_sweep_is_cancelled_as_a_whole(user1):
    run = user1.promote(
        user1.notebook("long.ipynb", PARAMETERS, "import time\ntime.sleep(600)"), "--sweep", "rate=1,2,3"
    )
    assert user1.siflab("cancel", run["id"]).returncode == 0
    run = user1.await_end(run["id"])
    assert run["state"] == "cancelled" and run["points"] == {"cancelled": 3}


def test_what_is_wrong_with_a_sweep_is_said_before_anything_is_submitted(user1):
    source = user1.notebook("wrong.ipynb", PARAMETERS, "1")
    before = user1.siflab("runs", "--all").stdout
    for words, said in (
        (["--sweep", "rat=1"], "--sweep rat: "),
        (["-p", "rate=fast", "--sweep", "name=b"], "-p rate: 'fast' is no float"),
    ):
        done = user1.siflab("promote", str(source), *words)
        assert done.returncode == 2 and said in done.stderr, done.stderr
    assert user1.siflab("runs", "--all").stdout == before


def test_a_run_that_is_warned_goes_on_where_it_was(user1):
    """Two attempts, by requeueing: the second begins with what the first has saved."""
    source = user1.notebook(
        "resume.ipynb",
        "import time\nfrom siflab import checkpoint\nstate = checkpoint.load() or {'step': 0, 'starts': 0}\n"
        "state['starts'] += 1\nprint('from', state['step'], 'start', state['starts'])",
        "while state['starts'] < 2 and not checkpoint.stop_requested():\n    state['step'] += 1\n    time.sleep(0.2)\n"
        "checkpoint.save(state, step=state['step'])\nprint('saved', state['step'])",
        "assert state['starts'] == 2, state",
    )
    run = user1.promote(source, "--time", "1:00:00", "--attempts", "3")
    user1.await_output(run["id"], "from 0 start 1\n")
    slurm("scancel", "--signal=USR2", "--batch", run["job_id"])
    run = user1.await_run(run["id"], lambda run: run["state"] == "pending")
    slurm("scontrol", "update", f"JobId={run['job_id']}", "StartTime=now")  # Slurm waits two minutes by itself
    run = user1.await_end(run["id"])
    assert (run["state"], run["attempts"], run["exit_code"]) == ("completed", 2, 0)
    assert "start 2" in texts(user1.output(run), 0) and "from 0 " not in texts(user1.output(run), 0)


def test_from_python(user1):
    """On a login node, without a Hub."""
    source = user1.notebook("api.ipynb", PARAMETERS, "import siflab\nsiflab.record(loss=rate)\nprint(name)")
    code = f"""
import siflab
run = siflab.promote({str(source)!r}, "cpu", sweep=[{{"rate": 2.0}}, {{"rate": 1.0, "name": "b"}}]).wait(timeout=120)
print(run.state, sorted((point["loss"], point["state"]) for point in run.points()))
"""
    done = user1.run_as([PYTHON_OF_USERS, "-c", code])
    assert done.stdout == "completed [(1.0, 'completed'), (2.0, 'completed')]\n", done.stderr
