"""Submitting: once, with everything checked before, and nothing left behind when it is refused."""

import json
import stat
import threading
from pathlib import Path

import pytest

from siflab.errors import Conflict, Internal, Invalid, SlurmRefused, SlurmUnreachable
from siflab.runs import RunRequest, cancel, get_run, list_runs, submit
from siflab.runs.folder import RunFolder
from tests.unit.others_folders import HOW, give_away
from tests.unit.runs.fake_slurm import SOCKET, TIMED_OUT, UNREACHABLE, done, failing


def made(viewer) -> list[str]:
    root = Path(viewer.runs_root())
    return sorted(path.name for path in root.iterdir()) if root.exists() else []


def test_a_run_folder_is_complete_before_sbatch_is_called(viewer, slurm, request_for):
    seen = {}

    def sbatch(argv, stdin):
        (name,) = made(viewer)
        folder = RunFolder(Path(viewer.runs_root()) / name)
        seen["files"] = sorted(path.name for path in folder.path.iterdir())
        seen["submission"] = json.loads(folder.submission.read_text())
        seen["script"] = folder.script.read_text("utf-8") == stdin
        return done(argv, "77;cluster\n")

    slurm.answers["sbatch"] = sbatch
    run = submit(viewer, request_for())
    assert seen["files"] == ["input.ipynb", "job.sh", "request.json", "runner.pyz", "submission.json"]
    assert seen["submission"]["job_id"] is None and seen["submission"]["submit_id"] == run.id
    assert seen["script"]
    assert run.job_id == "77"
    assert json.loads((Path(run.folder) / "submission.json").read_text())["job_id"] == "77"


def test_a_run_is_its_owners_alone(viewer, request_for):
    folder = Path(submit(viewer, request_for()).folder)
    assert stat.S_IMODE(folder.parent.stat().st_mode) == stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir() if path.name != "job.sh"} == {0o600}
    assert stat.S_IMODE((folder / "job.sh").stat().st_mode) == 0o700


def test_what_the_runner_reads_is_as_the_container_has_it(viewer, request_for):
    run = submit(viewer, request_for("deep/er/训练.ipynb", name="Mein Lauf", gpus=2))
    request = json.loads((Path(run.folder) / "request.json").read_text("utf-8"))
    assert request["workdir"] == "/workspace/user1/deep/er"
    assert request["notebook"] == "/workspace/user1/deep/er/训练.ipynb"
    assert (request["id"], request["name"], request["kernel"], request["mode"]) == (
        run.id,
        "Mein Lauf",
        None,
        "notebook",
    )
    assert request["source"] == f"{viewer.home}/deep/er/训练.ipynb"
    assert request["source_sha256"] == run.source_sha256
    assert run.resources["gpus"] == 2
    assert Path(run.folder).name.split("_")[1] == "mein-lauf"


def test_what_is_executed_is_what_was_there_when_it_was_submitted(viewer, request_for, monkeypatch):
    request = request_for()
    content = Path(request.path).read_bytes()
    with monkeypatch.context() as context:
        context.setattr("siflab.runs.source._sha256", lambda path, facts: pytest.fail("its size and time are the same"))
        run = submit(viewer, request)
        assert get_run(viewer, run.id).source_changed is False
    Path(request.path).write_bytes(content + b" ")
    assert (Path(run.folder) / "input.ipynb").read_bytes() == content
    assert get_run(viewer, run.id).source_changed is True
    Path(request.path).write_bytes(content)
    assert get_run(viewer, run.id).source_changed is False, "it is the content that counts"
    Path(request.path).unlink()
    assert get_run(viewer, run.id).source_changed is None


@pytest.mark.parametrize(
    ("choices", "fields"),
    [
        ({"profile": "b200"}, {"profile"}),
        ({"gpus": 5}, {"gpus"}),
        ({"gpus": 0, "time": "9:00:00", "cpus": 3, "memory": "1X"}, {"gpus", "time", "cpus", "memory"}),
        ({"kernel": None, "image": "other"}, {"image"}),
    ],
)
def test_an_invalid_request_leaves_nothing(viewer, slurm, request_for, choices, fields):
    with pytest.raises(Invalid) as caught:
        submit(viewer, request_for(**choices))
    assert {error.field for error in caught.value.errors} == fields
    assert made(viewer) == []
    assert slurm.asked == []


def test_all_that_is_wrong_is_said_at_once(viewer, site_data):
    Path(site_data["images"]["torch"]["path"]).unlink()
    with pytest.raises(Invalid) as caught:
        submit(viewer, RunRequest(path="/no/such.ipynb", profile="a100", name="x"))
    assert {(error.field, error.code) for error in caught.value.errors} == {
        ("image", "image-unusable"),
        ("path", "not-found"),
    }


def test_a_notebook_that_no_bind_carries_is_refused(viewer, notebook, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "train.ipynb"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(notebook().read_bytes())
    with pytest.raises(Invalid) as caught:
        submit(viewer, RunRequest(path=str(elsewhere), profile="a100"))
    assert caught.value.errors[0].code == "not-in-job"


@pytest.mark.parametrize(
    ("stderr", "error", "field"),
    [
        ("sbatch: error: Batch job submission failed: Requested node configuration is not available\n", SlurmRefused, ""),
        ("sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n", Invalid, "account"),
        ("sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)\n", Invalid, "time"),
        ("sbatch: error: QOSMaxGRESPerUser\nsbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)\n", Invalid, "gpus"),
        ("sbatch: error: something new\n", SlurmRefused, ""),
    ],
)  # fmt: skip
def test_what_slurm_refuses_leaves_nothing(viewer, slurm, request_for, stderr, error, field):
    slurm.answers["sbatch"] = failing(stderr)
    with pytest.raises(error) as caught:
        submit(viewer, request_for())
    assert made(viewer) == []
    assert [each.field for each in caught.value.errors] == ([field] if field else [])
    assert caught.value.message.zh != caught.value.message.en


@pytest.mark.parametrize("lost", [TIMED_OUT, SOCKET, done(["sbatch"], "what?\n")], ids=["time", "socket", "no id"])
def test_a_job_whose_id_was_lost_is_found_by_its_comment(viewer, slurm, request_for, lost):
    def sbatch(argv, stdin):
        slurm._sbatch(argv, stdin)
        return lost

    slurm.answers["sbatch"] = sbatch
    run = submit(viewer, request_for(), wait=pytest.fail)
    assert (run.job_id, run.state) == ("42", "pending")


def test_it_is_looked_for_again_before_anything_is_said(viewer, slurm, request_for):
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 3:  # the controller was slow
            slurm._sbatch(["sbatch"], slurm.lost)

    def sbatch(argv, stdin):
        slurm.lost = stdin
        return TIMED_OUT

    slurm.answers["sbatch"] = sbatch
    assert submit(viewer, request_for(), wait=wait).job_id == "42"
    assert len(waits) == 3


@pytest.fixture
def clock(monkeypatch):
    """The seconds that have passed, in a list; they pass only where the test says so."""
    seconds = [0.0]
    monkeypatch.setattr("siflab.runs.submission.monotonic", lambda: seconds[0])
    return seconds


@pytest.mark.parametrize(("silent", "looks"), [(0, 21), (5, 4), (60, 1)])
def test_a_run_of_which_nothing_is_known_is_kept_and_shows_up_later(viewer, slurm, request_for, clock, silent, looks):
    """`silent` seconds pass while squeue gives no answer: it is the time that counts, not the looks."""

    def wait(seconds):
        clock[0] += seconds

    def squeue(argv, stdin):
        clock[0] += silent
        return TIMED_OUT

    slurm.answers["sbatch"] = TIMED_OUT
    slurm.answers["squeue"] = squeue
    with pytest.raises(SlurmUnreachable) as caught:
        submit(viewer, request_for(), wait=wait)
    assert slurm.count("squeue") == looks
    assert {timeout for argv, timeout in slurm.timeouts if argv[0] == "squeue"} == {5.0}
    del slurm.answers["squeue"]
    (name,) = made(viewer)
    run_id = RunFolder(Path(name)).id
    assert run_id in caught.value.message.en and run_id in caught.value.message.zh
    assert get_run(viewer, run_id).state == "submitting"
    with pytest.raises(Conflict):
        cancel(viewer, run_id)
    slurm.queued("90", "RUNNING", comment=f"siflab-run:{run_id}")
    run = get_run(viewer, run_id)
    assert (run.state, run.job_id) == ("running", "90")


@pytest.mark.parametrize("words", [UNREACHABLE, failing("sbatch: command not found", 127), failing("no bridge", 69)])
def test_when_slurm_was_never_asked_nothing_is_left(viewer, slurm, request_for, words):
    slurm.answers["sbatch"] = words
    with pytest.raises(SlurmUnreachable):
        submit(viewer, request_for(), wait=pytest.fail)
    assert made(viewer) == []


def test_the_same_key_is_the_same_run(viewer, slurm, request_for):
    request = request_for(submit_key="abcdefgh")
    first = submit(viewer, request)
    again = submit(viewer, request)
    assert (again.id, again.job_id) == (first.id, first.job_id)
    assert slurm.count("sbatch") == 1
    assert submit(viewer, request_for(submit_key="abcdefgi")).id != first.id


def test_the_same_key_at_the_same_moment_is_the_same_run(viewer, slurm, request_for):
    gate = threading.Barrier(4)
    request = request_for(submit_key="abcdefgh")
    answers, failures = [], []

    def call():
        gate.wait(10)
        try:
            answers.append(submit(viewer, request).id)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    assert len(answers) == 4 and len(set(answers)) == 1
    assert slurm.count("sbatch") == 1
    assert len(made(viewer)) == 1


def test_no_run_yet(viewer):
    assert list_runs(viewer).as_dict() == {"runs": [], "slurm": {"reachable": True, "message": None}}


@pytest.mark.parametrize("how", HOW)
def test_nothing_is_submitted_from_a_folder_that_is_not_its_owners_alone(viewer, slurm, request_for, how):
    give_away(Path(viewer.runs_root()), how)
    with pytest.raises(Internal, match="not yours alone"):
        submit(viewer, request_for())
    assert slurm.count("sbatch") == 0 and made(viewer) == []
