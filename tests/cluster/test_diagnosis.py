"""On the real cluster: what failed says why and what to change, the change helps, and a run goes on in its own folder."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.cluster.hub import USERS
from tests.cluster.person import Person, site, texts, why_no_run

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_no_run() is not None, reason=str(why_no_run()))]
GREEDY = "block = bytearray(1400 * 2**20)\nblock[::4096] = b'x' * len(block[::4096])\nprint('it fits', len(block))"
TWICE = """import os, pathlib, random
random.seed(7)
mark = pathlib.Path(os.environ["CHECKPOINT_DIR"]) / "mark"
if not mark.exists():
    mark.write_text("was here")
    import no_such_module_at_all
print("goes on:", mark.read_text())"""


@pytest.fixture(scope="module")
def user1():
    person = Person(USERS[0], site())
    yield person
    person.leave()


@pytest.fixture(scope="module")
def both(user1):
    """One that needs more memory than it asks for, one that fails in its first attempt only."""
    greedy = user1.promote(user1.notebook("greedy.ipynb", "print('before')", GREEDY), "--memory", "1G")
    twice = user1.promote(user1.notebook("twice.ipynb", TWICE))
    return user1.await_end(greedy["id"]), user1.await_end(twice["id"])


def test_too_little_memory_is_told_and_the_change_that_is_offered_helps(user1, both):
    run = both[0]
    told = run["diagnosis"]
    assert (told["cause"], told["place"]["cell_number"]) == ("host_memory", 2), told
    assert "more memory than the 1 GB" in told["message"]["en"]
    (change,) = told["changes"]
    assert change["request"] == {"memory": "2G"}
    done = user1.siflab("rerun", run["id"], "--with", "memory=2G", "--json")
    assert done.returncode == 0, done.stderr
    again = json.loads(done.stdout)
    assert again["differences"] == []
    run = user1.await_end(again["run"]["id"])
    assert run["state"] == "completed" and run["diagnosis"] is None, run
    assert texts(user1.output(run), 1).startswith("it fits")


def test_a_run_goes_on_in_its_folder_and_says_what_it_was_made_of(user1, both):
    run = both[1]
    assert (
        run["diagnosis"]["cause"] == "missing_module" and "no_such_module_at_all" in run["diagnosis"]["message"]["en"]
    )
    assert run["diagnosis"]["place"]["line"] == 6
    done = user1.siflab("resume", run["id"])
    assert done.returncode == 0, done.stderr
    run = user1.await_end(run["id"])
    assert (run["state"], run["attempts"], run["diagnosis"]) == ("completed", 2, None)
    assert texts(user1.output(run), 0) == "goes on: was here\n"

    told = json.loads(user1.siflab("show", run["id"], "--provenance").stdout)
    assert [attempt["status"] for attempt in told["attempts"]] == ["failed", "completed"]
    facts = told["attempts"][1]["facts"]
    assert facts["slurm"]["SLURM_JOB_ID"] == run["job_id"] and facts["packages"]["nbclient"] and facts["image_labels"]
    assert told["seeds"] == [{"cell": 0, "line": 2, "call": "random.seed", "value": "7"}]
    assert {row["JobIDRaw"] for row in told["slurm"]} == {attempt["job_id"] for attempt in told["attempts"]}
    assert all("mem=1G" in row["AllocTRES"] for row in told["slurm"])


def test_an_export_of_it_is_unpacked_and_repeated(user1, both):
    archive = user1.folder / "export.tar.gz"
    done = user1.siflab("export", both[1]["id"], "-o", str(archive))
    assert done.returncode == 0 and "left out: checkpoints" in done.stdout, done.stderr
    name = Path(both[1]["folder"]).name
    with tarfile.open(archive) as opened:
        names = opened.getnames()
    assert f"{name}/attempts/1/output.ipynb" in names and f"{name}/index.html" in names
    assert not [each for each in names if "/checkpoints" in each]
    subprocess.run(user1.as_user(["tar", "-xzf", str(archive), "-C", str(user1.folder)]), check=True)
    done = user1.siflab("rerun", str(user1.folder / name), "--dry-run", "--json")
    assert done.returncode == 0 and json.loads(done.stdout) == {"run": None, "differences": []}, done.stderr
