"""What preflight is told of a request and its place."""

import pytest

from siflab.config import parse_site
from siflab.runs import RunRequest, Viewer, preflight, submit
from tests.unit.runs.fake_slurm import TIMED_OUT, UNREACHABLE


def codes(viewer, request):
    return [finding.code for finding in preflight(viewer, request)]


def test_the_partitions_limit_is_asked_for_once_and_not_to_submit(viewer, slurm, request_for):
    submit(viewer, request_for(time="7:00:00"))
    assert slurm.count("scontrol") == 0
    assert codes(viewer, request_for(time="7:00:00")) == ["longer-than-partition"]
    assert codes(viewer, request_for(time="6:00:00")) == []
    assert slurm.count("scontrol") == 1
    assert [timeout for argv, timeout in slurm.timeouts if argv[0] == "scontrol"] == [0.7]


@pytest.mark.parametrize("answer", [UNREACHABLE, TIMED_OUT])
def test_without_an_answer_nothing_is_said(viewer, slurm, request_for, answer):
    slurm.answers["scontrol"] = answer
    assert codes(viewer, request_for(time="7:00:00")) == []


def test_files_are_looked_for_beside_the_notebook(viewer, notebook, tmp_path, monkeypatch):
    path = notebook("deep/train.ipynb", "open('data.txt')", "open('gone.txt')")
    (path.parent / "data.txt").touch()
    monkeypatch.chdir(tmp_path)
    found = preflight(viewer, RunRequest(path=str(path), profile="a100"))
    assert [(finding.code, finding.cell) for finding in found] == [("no-such-file", 1)]


def test_a_partition_without_a_way_out(viewer, notebook, site_data, slurm):
    path = str(notebook("a.ipynb", "!wget https://example.org/x"))
    request = RunRequest(path=path, profile="a100")
    assert codes(viewer, request) == []
    site_data["slurm"]["partitions"]["gpu-a100"]["internet"] = False
    assert codes(Viewer(parse_site(site_data), slurm, "user1", viewer.home), request) == ["needs-internet"]


def test_the_mode_counts(viewer, notebook):
    path = str(notebook("a.ipynb", "%autosave 60"))
    assert codes(viewer, RunRequest(path=path, profile="a100")) == []
    assert codes(viewer, RunRequest(path=path, profile="a100", mode="distributed")) == ["magic-not-distributed"]
