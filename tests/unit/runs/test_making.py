"""Making a run folder: what is in the way, and what is left when it cannot be made."""

import os
from pathlib import Path

import pytest

from siflab.errors import Internal
from siflab.runs import submit
from siflab.runs.folder import RunFolder


def test_a_folder_that_a_killed_process_left_half_made_is_taken_over(viewer, request_for):
    request = request_for(submit_key="abcdefgh")
    run = submit(viewer, request)
    root = Path(viewer.runs_root())
    RunFolder(Path(run.folder)).remove()
    half = root / f".making-{run.id}"
    half.mkdir()
    (half / "input.ipynb").write_bytes(b"half")
    os.utime(half, (0, 0))
    assert submit(viewer, request).id == run.id
    assert not half.exists()


@pytest.mark.parametrize("kind", ["a file", "a link", "not removable"])
def test_what_is_in_the_way_of_a_new_run_is_removed_or_named(viewer, slurm, request_for, monkeypatch, kind):
    request = request_for(submit_key="abcdefgh")
    run = submit(viewer, request)
    RunFolder(Path(run.folder)).remove()
    half = Path(viewer.runs_root()) / f".making-{run.id}"
    if kind == "a file":
        half.write_text("")
    elif kind == "a link":
        half.symlink_to(viewer.home)
    else:
        half.mkdir()
        monkeypatch.setattr("siflab.runs.folder.shutil.rmtree", lambda path, ignore_errors: None)
    os.utime(half, (0, 0), follow_symlinks=False)
    if kind != "not removable":
        assert submit(viewer, request).id == run.id
        assert Path(request.path).exists(), "what a link leads to is left alone"
        return
    with pytest.raises(Internal) as caught:
        submit(viewer, request, wait=lambda seconds: None)
    assert "Nothing was submitted" in caught.value.message.en
    assert slurm.count("sbatch") == 1


@pytest.mark.parametrize("where", ["siflab.runs.preparation.Prepared.plan", "siflab.runs.submission.render_run"])
def test_a_run_that_cannot_be_made_leaves_nothing(viewer, request_for, monkeypatch, where):
    def fail(*words):
        raise ValueError("odd")

    monkeypatch.setattr(where, fail)
    with pytest.raises(ValueError, match="odd"):
        submit(viewer, request_for())
    assert list(Path(viewer.runs_root()).iterdir()) == []


def test_a_disk_that_takes_nothing_is_named(viewer, request_for):
    Path(viewer.home, "siflab-runs").write_text("a file where the folder should be")
    with pytest.raises(Internal) as caught:
        submit(viewer, request_for())
    assert "siflab-runs" in caught.value.message.en
    assert "Nothing was submitted" in caught.value.message.en
