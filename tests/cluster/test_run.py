"""Runs on the real cluster: a notebook is promoted from a terminal and comes back executed, or says why not."""

import json
import os
import re
import secrets
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cluster.hub import USERS
from tests.cluster.person import PYTHON_OF_USERS, Person, site, texts, why_no_run

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_no_run() is not None, reason=str(why_no_run()))]
COUNTING = "import time\nfor i in range(3000):\n    print('line', i, flush=True)\n    time.sleep(0.05)"


@pytest.fixture(scope="module")
def user1():
    person = Person(USERS[0], site())
    yield person
    person.leave()


def test_a_notebook_is_promoted_and_comes_back_executed(user1):
    source = user1.notebook(
        "train.ipynb",
        "import os, sys\nprint(os.getcwd())\nprint(os.environ.get('CUDA_VISIBLE_DEVICES'), os.environ['OMP_NUM_THREADS'])",
        "6 * 7",
    )
    before = source.read_bytes(), source.stat().st_mtime_ns
    run = user1.promote(source, "--profile", "a100", "--gpus", "2")
    assert run["job_id"].isdigit() and run["state"] in ("pending", "running")

    run = user1.await_end(run["id"])
    assert (run["state"], run["exit_code"], run["attempts"]) == ("completed", 0, 1)
    assert run["progress"]["cells_done"] == run["progress"]["cells_total"] == 2
    assert run["node"] and run["started_at"] and run["ended_at"] and run["reason"] is None
    assert run["source_changed"] is False
    executed = user1.output(run)
    folder, devices = texts(executed, 0).splitlines()
    assert folder.endswith(user1.folder.name), "cells run in the notebook's own folder"
    assert devices == "0,1 1"
    assert texts(executed, 1) == "42"
    assert (source.read_bytes(), source.stat().st_mtime_ns) == before, "the source is never written"
    [used] = json.loads(user1.siflab("metrics", run["id"], "--json").stdout)["nodes"]
    assert used["asked"]["memory"] == run["resources"]["memory_mib"] << 20
    assert used["samples"] > 0 and used["memory"]["peak"] > 10 << 20 and used["cpu"]["mean"] > 0


def test_a_run_folder_is_closed_to_others(user1):
    run = user1.promote(user1.notebook("closed.ipynb", "1"))
    user1.await_end(run["id"])
    folder = Path(run["folder"])
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(user1.root.stat().st_mode) == 0o700
    open_files = [path for path in folder.rglob("*") if path.stat().st_mode & 0o077 and path.suffix != ".out"]
    assert open_files == []
    assert {path.name for path in folder.iterdir()} >= {"request.json", "submission.json", "job.sh", "input.ipynb"}


@pytest.mark.parametrize(
    "name",
    [
        '训练 "a" $(id).ipynb',
        "-rf ; touch x #.ipynb",
        "it's `whoami` %j\\n\tend.ipynb",
        "a\nb.ipynb",
        ".ipynb",
    ],
)
def test_any_name_works_and_none_is_obeyed(user1, name):
    source = user1.notebook(name, "print('中文', 1)")
    run = user1.promote(source, "--wait")
    assert run["state"] == "completed", run
    assert texts(user1.output(run), 0) == "中文 1\n"
    assert re.fullmatch(r"\d{8}-\d{6}_[a-z0-9-]+_[a-z0-9]{8}", Path(run["folder"]).name)
    assert run["source"] == str(source)
    listed = user1.siflab("runs").stdout
    assert len([line for line in listed.splitlines() if run["id"] in line]) == 1, "one line, whatever is in the name"
    assert not (user1.folder / "x").exists()


def test_a_failing_cell_is_named_with_its_line(user1):
    source = user1.notebook("fail.ipynb", "a = 1", "b = 2\nraise ValueError('boom')", "print('never')")
    done = user1.siflab("promote", str(source), "--wait")
    assert done.returncode == 1
    assert "boom" in done.stderr
    run = user1.show(done.stderr.split("run ")[1].split()[0])
    assert run["state"] == "failed"
    place = {"cell": 1, "cell_number": 2, "line": 2, "rank": None}
    assert run["error"] == {"ename": "ValueError", "evalue": "boom", **place}
    assert run["progress"]["cells_done"] == 1
    assert [cell["metadata"]["siflab"]["status"] for cell in user1.output(run)["cells"]] == [
        "done",
        "failed",
        "not run",
    ]
    assert "第 2 个单元格" in user1.siflab("show", run["id"], SIFLAB_LANG="zh").stdout


def test_a_cancelled_run_keeps_what_it_printed(user1):
    run = user1.promote(user1.notebook("long.ipynb", COUNTING))
    user1.await_output(run["id"], "line 5\n")
    done = user1.siflab("cancel", run["id"][:6])
    assert done.returncode == 0, done.stderr
    run = user1.await_end(run["id"])
    assert run["state"] == "cancelled"
    assert "line 5\n" in texts(user1.output(run), 0)
    assert user1.siflab("cancel", run["id"]).returncode == 0, "again changes nothing"


def test_a_pending_run_says_why_and_can_be_cancelled(user1):
    run = user1.promote(user1.notebook("held.ipynb", "1"), "--profile", "a100")
    subprocess.run(["scontrol", "hold", run["job_id"]], check=True)
    subprocess.run(["scontrol", "requeue", run["job_id"]], check=False)  # where it had begun already
    try:
        run = user1.await_run(run["id"], lambda run: run["state"] == "pending" and "held" in run["reason"]["en"])
        assert run["reason"]["zh"] != run["reason"]["en"]
    finally:
        user1.siflab("cancel", run["id"])
    assert user1.await_end(run["id"])["state"] == "cancelled"
    assert user1.siflab("logs", run["id"]).returncode == 0


def test_a_run_is_told_before_its_time_is_over(user1):
    run = user1.promote(user1.notebook("overtime.ipynb", COUNTING), "--time", "1")
    run = user1.await_end(run["id"])
    assert run["state"] == "timeout"
    assert "line 5\n" in texts(user1.output(run), 0)
    assert "more time" in run["reason"]["en"]


def test_too_much_memory_is_called_so(user1):
    greedy = "kept = []\nfor i in range(200):\n    kept.append(bytearray(50_000_000))\n    print(len(kept), flush=True)"
    run = user1.promote(user1.notebook("greedy.ipynb", "print('before')", greedy), "--memory", "1G")
    run = user1.await_end(run["id"])
    assert run["state"] == "out_of_memory"
    assert "more memory" in run["reason"]["en"]
    assert texts(user1.output(run), 0) == "before\n"


def test_a_runner_that_is_killed_leaves_a_whole_notebook(user1):
    run = user1.promote(user1.notebook("killed.ipynb", "print('before')", COUNTING, "print('never')"))
    user1.await_output(run["id"], "line 5\n")
    killed = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _is_runner(pid, run["id"])]
    assert killed, "the runner was found"
    for pid in killed:
        os.kill(pid, 9)
    run = user1.await_end(run["id"])
    assert run["state"] == "failed"
    assert run["reason"]["en"].startswith("The process that runs the notebook was killed")
    assert "cell 2" in run["reason"]["en"]
    executed = user1.output(run)
    assert "line 5\n" in texts(executed, 1)
    assert [cell["metadata"]["siflab"]["status"] for cell in executed["cells"]] == ["done", "killed", "not run"]
    assert run["progress"]["cells_done"] == 1


def _is_runner(pid: int, run_id: str) -> bool:
    try:
        argv = Path(f"/proc/{pid}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return False
    return len(argv) > 3 and argv[1].endswith("runner.pyz") and argv[2] == "--run" and run_id in argv[3]


def test_a_requeued_run_gets_another_attempt(user1):
    once = "import os, time\nif os.path.exists('second'):\n    print('second')\nelse:\n    open('second', 'w').close()\n    print('first', flush=True)\n    time.sleep(600)"
    run = user1.promote(user1.notebook("requeue.ipynb", once))
    user1.await_output(run["id"], "first\n")
    subprocess.run(["scontrol", "requeue", run["job_id"]], check=True)
    run = user1.await_end(run["id"], 300)
    assert (run["state"], run["attempts"]) == ("completed", 2)
    assert texts(user1.output(run), 0) == "second\n"
    first = json.loads((Path(run["folder"]) / "attempts/1/output.ipynb").read_bytes())
    assert texts(first, 0).startswith("first\n"), "what the first attempt printed is still there"
    assert "first" in user1.siflab("logs", "--attempt", "1", run["id"]).stdout


def test_the_script_can_be_submitted_by_hand(user1):
    run = user1.promote(user1.notebook("by-hand.ipynb", "print('again')"), "--wait")
    done = user1.run_as(["sbatch", "--parsable", f"{run['folder']}/job.sh"])
    assert done.returncode == 0, done.stderr
    run = user1.await_run(run["id"], lambda run: run["attempts"] == 2 and run["state"] == "completed")
    assert run["job_id"] == done.stdout.strip()
    assert "siflab: submit" not in done.stderr


def test_what_the_site_sets_reaches_the_notebook(user1):
    run = user1.promote(user1.notebook("site.ipynb", "import os\nprint(os.environ['OF_THE_SITE'])"), "--wait")
    assert texts(user1.output(run), 0) == "a 'b' $c\n"


def test_a_container_that_cannot_start_is_explained(user1):
    run = user1.promote(user1.notebook("no-python.ipynb", "1"), "--image", "no-python", "--wait")
    assert run["state"] == "failed"
    assert "did not start" in run["reason"]["en"]
    assert "/no/such/python" in user1.siflab("logs", run["id"]).stdout


def test_the_same_request_twice_at_once_is_one_run(user1):
    source = user1.notebook("twice.ipynb", "1")
    code = (
        "import sys\nfrom siflab.runs import RunRequest, Viewer, submit\n"
        "run = submit(Viewer.here(), RunRequest(path=sys.argv[1], profile='cpu', submit_key=sys.argv[2]))\n"
        "print(run.id, run.job_id)"
    )
    argv = user1.as_user([PYTHON_OF_USERS, "-c", code, str(source), secrets.token_hex(8)])
    started = [subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd="/") for _ in range(4)]
    answers = [process.communicate(timeout=60)[0].split() for process in started]
    ids = {run_id for run_id, job_id in answers if job_id.isdigit()}
    assert len(ids) == len(set(map(tuple, answers))) == 1, answers
    marks = subprocess.run(
        ["squeue", "--noheader", "--states=all", "--user", user1.user, "--format=%k"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    assert marks.count(f"siflab-run:{ids.pop()}") == 1
