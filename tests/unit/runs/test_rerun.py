"""A run once more: from its own snapshot, with what differs said."""

import json
import shutil
from pathlib import Path

import pytest

from siflab.config import parse_site
from siflab.errors import Conflict, Invalid, NotFound
from siflab.runs import RunRequest, Viewer, rerun, submit
from siflab.runs.folder import RunFolder, read_json
from tests.unit.extension.openapi_contract import Contract


@pytest.fixture
def run(viewer, request_for):
    return submit(viewer, request_for(time="1:00:00", attempts=2))


def again_with(viewer, site_data, **changes):
    """The same person after the site has changed."""
    return Viewer(parse_site({**site_data, **changes}), viewer.slurm, viewer.user, viewer.home)


def texts(found):
    return {difference.what: difference.text.en for difference in found.differences}


def test_the_snapshot_runs_not_the_source(viewer, run, notebook):
    before = RunFolder(Path(run.folder)).input.read_bytes()
    notebook("train.ipynb", "print('changed')")
    found = rerun(viewer, run.id)
    new = RunFolder(Path(found.run.folder))
    assert new.input.read_bytes() == before and found.run.id != run.id
    assert texts(found) == {"source": "the notebook has changed since; what runs is the snapshot"}
    old, now = read_json(RunFolder(Path(run.folder)).request), read_json(new.request)
    for name in ("source", "notebook", "workdir", "source_sha256", "resources", "attempts", "image"):
        assert now[name] == old[name], name
    assert now["request"]["rerun_of"] == run.id and found.run.source_changed is True
    Contract().check_answer("/runs/{id}/rerun", "post", 201, found.as_dict())


def test_nothing_differs_when_nothing_has_changed(viewer, run):
    assert rerun(viewer, run.id).differences == ()


def test_what_is_changed_is_asked_for_and_is_no_difference(viewer, run):
    found = rerun(viewer, run.id, {"gpus": 2, "time": "4:00:00", "name": "longer"})
    assert (found.run.resources["gpus"], found.run.resources["time_seconds"], found.run.name) == (2, 14400, "longer")
    assert found.differences == ()
    assert read_json(RunFolder(Path(found.run.folder)).request)["attempts"] == 2


def test_what_differs_at_the_site(viewer, site_data, run, monkeypatch, tmp_path):
    image = tmp_path / "image.sif"
    image.write_bytes(image.read_bytes() + b"new")
    profiles = {"a100": {**site_data["profiles"]["a100"], "memory": "8G"}}
    monkeypatch.setattr("siflab.__version__", "9.9")
    later = again_with(viewer, site_data, profiles=profiles, slurm={})
    found = texts(rerun(later, run.id, dry_run=True))
    assert "another image" in found["image"]
    assert found["profile"] == "NCCL_DEBUG: was WARN, now -"
    assert found["siflab"].endswith("now 9.9")
    everything = [difference.text.en for difference in rerun(later, run.id, dry_run=True).differences]
    assert "memory of the profile: was 4G, now 8G" in everything


def test_the_digest_of_the_image_is_compared(viewer, site_data, run):
    request = RunFolder(Path(run.folder)).request
    told = read_json(request)
    told["image"]["digest"] = "sha256:" + "0" * 64
    request.write_text(json.dumps(told))
    images = {"torch": {**site_data["images"]["torch"], "digest": "sha256:" + "1" * 64}}
    found = texts(rerun(again_with(viewer, site_data, images=images), run.id, dry_run=True))
    assert "digest" in found["image"] and "sha256:111" in found["image"]
    images["torch"]["digest"] = "sha256:" + "0" * 64
    assert "image" not in texts(rerun(again_with(viewer, site_data, images=images), run.id, dry_run=True))


def test_a_dry_run_submits_nothing(viewer, slurm, run):
    before = slurm.count("sbatch")
    found = rerun(viewer, run.id, dry_run=True)
    assert found.run is None and slurm.count("sbatch") == before
    assert len(list(Path(viewer.runs_root()).iterdir())) == 1


def test_a_folder_that_lies_elsewhere(viewer, run, tmp_path):
    copy = tmp_path / "unpacked"
    shutil.copytree(run.folder, copy)
    shutil.rmtree(run.folder)
    found = rerun(viewer, copy)
    assert found.differences == () and found.run.source == run.source
    told = read_json(RunFolder(Path(found.run.folder)).request)
    assert told["request"]["rerun_of"] == run.id


def test_when_the_notebooks_folder_is_gone(viewer, notebook):
    run = submit(viewer, RunRequest(path=str(notebook("gone/t.ipynb")), profile="a100"))
    shutil.rmtree(Path(viewer.home) / "gone")
    found = rerun(viewer, run.id)
    assert "runs in the run's own folder" in texts(found)["folder"]
    assert found.run.name == "t"


def test_a_sweep_keeps_its_points(viewer, slurm, notebook):
    path = notebook("s.ipynb", "rate = 0.1\nepochs = 1")
    data = json.loads(path.read_text())
    data["cells"][0]["metadata"]["tags"] = ["parameters"]
    path.write_text(json.dumps(data))
    request = RunRequest(
        path=str(path), profile="a100", mode="sweep", sweep={"grid": {"rate": [0.1, 0.2]}, "at_once": 1},
        parameters={"epochs": 3},
    )  # fmt: skip
    slurm.answers["scontrol"] = slurm.answers["sacctmgr"] = _nothing
    run = submit(viewer, request)
    found = rerun(viewer, run.id, {"parameters": {"epochs": 4}})
    old, new = (RunFolder(Path(one.folder)) for one in (run, found.run))
    assert read_json(old.points) == read_json(new.points)
    told = read_json(new.request)
    assert (told["parameters"], told["at_once"], told["mode"]) == ({"epochs": 4}, 1, "sweep")


def _nothing(argv, stdin):
    from tests.unit.runs.fake_slurm import done

    return done(argv)


def test_a_script_with_its_arguments(viewer):
    script = Path(viewer.home) / "t.py"
    script.write_text("print(1)\n")
    run = submit(viewer, RunRequest(path=str(script), profile="a100", arguments=("--epochs", "3")))
    script.unlink()
    found = rerun(viewer, run.id)
    new = RunFolder(Path(found.run.folder))
    assert read_json(new.request)["arguments"] == ["--epochs", "3"] and new.input_script.read_text() == "print(1)\n"


@pytest.mark.parametrize("changes", [{"path": "/x"}, {"sweep": {}}, {"rerun_of": "abcdefgh"}, {"colour": "red"}])
def test_what_cannot_be_changed(viewer, run, changes):
    with pytest.raises(Invalid) as caught:
        rerun(viewer, run.id, changes)
    assert caught.value.errors[0].code == "cannot-change" and "memory" in caught.value.errors[0].message.en


@pytest.mark.parametrize("changes", [{"attempts": 0}, {"gpus": "many"}, {"time": "99-0"}, {"profile": "none"}])
def test_what_the_site_or_the_request_forbids(viewer, run, changes):
    with pytest.raises(Invalid) as caught:
        rerun(viewer, run.id, changes)
    assert caught.value.errors[0].field in changes


def test_without_a_snapshot_or_a_folder(viewer, run, tmp_path):
    RunFolder(Path(run.folder)).input.unlink()
    with pytest.raises(Conflict):
        rerun(viewer, run.id)
    with pytest.raises(NotFound):
        rerun(viewer, tmp_path)
    with pytest.raises(NotFound):
        rerun(viewer, "nothing2")
