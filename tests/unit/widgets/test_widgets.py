"""The form and the monitor, pressed as a person presses them; what the page makes of them needs a browser."""

import json

import pytest

from siflab.runs import Viewer
from siflab.widgets import Monitor, PromoteForm
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.conftest import no_sync, notebook, site_data, slurm, viewer  # noqa: F401


@pytest.fixture
def path(notebook, viewer, monkeypatch):  # noqa: F811
    monkeypatch.setattr(Viewer, "here", classmethod(lambda cls, site=None: viewer))
    made = notebook("train.ipynb", "rate = 0.1  # of learning\nname = 'a'", "print(rate)")
    document = json.loads(made.read_text())
    document["cells"][0]["metadata"]["tags"] = ["parameters"]
    made.write_text(json.dumps(document))
    return str(made)


def test_chosen_submitted_and_followed_to_its_end(path, slurm):  # noqa: F811
    form = PromoteForm(path, language="en")
    form.field("gpus").input.value = "2"
    form.field("parameters.rate").input.value = "1e-3"
    form.submit.click()
    run = form.run
    assert "#SBATCH --gres=gpu:a100:2\n" in slurm.scripts[0]
    assert json.loads((run.folder / "request.json").read_text())["parameters"] == {"rate": 0.001}
    assert form.children == (form.monitor,) and "waiting in the queue" in form.monitor._title.value
    form.monitor.close()

    folder = begin(run.folder, "42", cells=2, done=1)
    slurm.queued("42", "RUNNING", comment=f"siflab-run:{run.id}")
    monitor = Monitor(run.refresh(), language="zh", pause=0.01)
    assert "运行中" in monitor._title.value and (monitor._bar.value, monitor._bar.max) == (1, 2)
    assert "printed" in monitor._log.value
    end(folder)
    slurm.accounted("42", "COMPLETED")
    monitor.join(10)
    assert "已完成" in monitor._title.value and monitor._cancel.disabled and monitor._bar.bar_style == "success"


def test_what_is_wrong_stands_at_its_field(path, slurm):  # noqa: F811
    form = PromoteForm(path, language="zh")
    form.field("gpus").input.value = "9"
    form.field("time").input.value = "soon"
    form.field("parameters.rate").input.value = "fast"
    form.submit.click()
    assert form.run is None and not form.submit.disabled and slurm.count("sbatch") == 0
    assert "⚠" in form.field("gpus")._error.value and "⚠" in form.field("time")._error.value
    form.field("gpus").input.value = "1"
    form.field("time").input.value = "1:00:00"
    form.submit.click()
    assert form.field("gpus")._error.value == "" and "不是 float" in form.field("parameters.rate")._error.value
    assert form.field("parameters.rate").input.value == "fast", "nothing that was typed is lost"


def test_the_script_is_shown_before(path, slurm):  # noqa: F811
    form = PromoteForm(path, language="en")
    form.preview.click()
    assert "#SBATCH --partition=gpu-a100" in form._script.value and form.run is None
    assert slurm.count("sbatch") == 1 and "--test-only" in slurm.asked[-1]


def test_only_what_the_profile_lets_one_change_is_asked(path):
    form = PromoteForm(path)
    assert [field.key for field in form._fields()] == [
        "path", "profile", "mode", "attempts", "gpus", "time", "parameters.rate", "parameters.name",
    ]  # fmt: skip
    assert form.field("parameters.rate").input.placeholder == "of learning"
    form.path.input.value = "/no/such.ipynb"
    assert "parameters.rate" not in [field.key for field in form._fields()]


def test_names_are_text(path, slurm, viewer):  # noqa: F811
    from siflab import promote

    run = promote(path, name="<img src=x onerror=alert(1)>")
    monitor = Monitor(run, language="en", pause=60)
    assert "<img" not in monitor._title.value and "&lt;img" in monitor._title.value
    monitor.close()


def test_cancelled_by_its_button(path, slurm):  # noqa: F811
    from siflab import promote
    from tests.unit.runs.fake_slurm import done

    slurm.answers["scancel"] = lambda argv, stdin: done(argv)
    monitor = Monitor(promote(path), pause=60)
    monitor._cancel.click()
    assert ["scancel", "42"] in slurm.asked
    monitor.close()
