"""Runs from Python: the same functions, as objects."""

import pytest

import siflab
from siflab import api
from siflab.errors import Invalid
from siflab.runs import Viewer
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.conftest import no_sync, notebook, site_data, slurm, viewer  # noqa: F401


@pytest.fixture
def path(notebook, viewer, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Viewer, "here", classmethod(lambda cls, site=None: viewer))
    monkeypatch.chdir(notebook().parent)
    return "train.ipynb"


@pytest.fixture
def time_passes(monkeypatch):
    """What happens at each look of `wait`."""
    events = []
    monkeypatch.setattr(api.time, "sleep", lambda seconds: events.pop(0)())
    return events


def test_promoted_and_waited_for(path, slurm, time_passes):  # noqa: F811
    run = siflab.promote(path, gpus=2, time="1:00:00")
    assert (run.state, run.job_id, run.output) == ("pending", "42", None) and "higher priority" in run.reason
    assert "#SBATCH --gres=gpu:a100:2\n" in slurm.scripts[0]

    def starts():
        slurm.queued("42", "RUNNING", comment=f"siflab-run:{run.id}")
        begin(run.folder, "42")

    def ends():
        end(engine_folder(run))
        slurm.accounted("42", "COMPLETED")

    time_passes += [starts, ends]
    seen = []
    assert run.wait(on_change=lambda run: seen.append(run.state)).state == "completed"
    assert seen == ["pending", "running", "completed"]
    assert run.output.name == "output.ipynb" and "printed" in run.log()
    assert [one.id for one in siflab.list_runs()] == [run.id] and siflab.get_run(run.id).name == "train"
    assert run.id in repr(run) and "completed" in repr(run)


def engine_folder(run):
    from siflab.runs.folder import RunFolder

    return RunFolder(run.folder)


def test_a_run_that_failed_says_so(path, slurm, time_passes):  # noqa: F811
    run = siflab.promote(path)
    end(begin(run.folder, "42"), "failed", code=1)
    slurm.accounted("42", "FAILED", "1:0")
    with pytest.raises(siflab.RunFailed, match="it failed") as caught:
        run.wait()
    assert caught.value.run is run
    assert run.wait(check=False).exit_code == 1


def test_waiting_has_an_end(path, time_passes):
    with pytest.raises(TimeoutError, match="is still pending after 0"):
        siflab.promote(path).wait(timeout=0)


@pytest.mark.parametrize(
    ("choices", "fields"),
    [
        ({"gpu": 2}, ["gpu"]),
        ({"gpus": 99}, ["gpus"]),
        ({"attempts": 0}, ["attempts"]),
        ({"sweep": {"a": [1]}}, ["sweep.grid.a"]),
    ],
)
def test_what_is_wrong_is_said_at_its_field(path, choices, fields):
    with pytest.raises(Invalid) as caught:
        siflab.promote(path, **choices)
    assert [error.field for error in caught.value.errors] == fields


def test_what_the_archive_of_a_run_lacks_is_said(monkeypatch):
    import builtins

    real = builtins.__import__

    def without_api(name, *arguments, **more):
        if name == "siflab" and arguments and len(arguments) > 2 and arguments[2] == ("api",):
            raise ImportError("No module named 'siflab.api'")
        return real(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without_api)
    with pytest.raises(AttributeError, match="needs Siflab to be installed"):
        siflab.promote  # noqa: B018
