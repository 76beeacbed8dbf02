"""rerun, resume, repair, export and the diagnosis on the command line."""

import json
import shutil
import tarfile
from pathlib import Path

import pytest

from siflab.runs import get_run, submit
from tests.unit.extension.openapi_contract import Contract
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import UNREACHABLE
from tests.unit.runs.test_recovery import killed

CONTRACT = Contract()


@pytest.fixture
def run(viewer, slurm, request_for):
    """It has used up its time."""
    run = submit(viewer, request_for())
    end(begin(run.folder, "42"), "stopped", code=5, signal=12)
    slurm.accounted("42", "TIMEOUT")
    return get_run(viewer, run.id)


def test_what_show_offers_can_be_typed(siflab, run):
    code, out, _ = siflab("show", run.id)
    assert code == 0 and "Its time limit of 2 h was reached." in out
    (line,) = [line for line in out.splitlines() if line.startswith("again with 4 h and 3 attempts")]
    command = line.partition("siflab ")[2].split()
    code, out, err = siflab(*command, "--json")
    assert code == 0, err
    again = json.loads(out)
    CONTRACT.check_answer("/runs/{id}/rerun", "post", 201, again)
    assert again["run"]["resources"]["time_seconds"] == 4 * 3600


def test_in_chinese(siflab, run, monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    out = siflab("show", run.id)[1]
    assert "诊断" in out and "已达到时间上限（2 小时）" in out and "以 4 小时、3 次尝试重新运行" in out


def test_rerun_says_what_differs(siflab, run, notebook, slurm):
    notebook("train.ipynb", "print('new')")
    code, out, err = siflab("rerun", run.id, "--dry-run")
    assert (
        (code, out) == (0, "") and "differs: the notebook has changed since" in err and "nothing was submitted" in err
    )
    code, out, err = siflab("rerun", run.id)
    assert code == 0 and "was submitted as job 43" in out and "differs: " in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--with", "memory"], "FIELD=VALUE"),
        (["--with", "path=/x"], "can be changed are"),
        (["--with", "colour=red"], "FIELD=VALUE"),
        (["--with", "arguments=--x"], "JSON list"),
        (["--with", "attempts=many"], "whole number"),
        (["--with", "time=99:00:00"], "--time"),
    ],
)
def test_changes_that_are_not_understood(siflab, run, arguments, words):
    code, _, err = siflab("rerun", run.id, *arguments)
    assert code == 2 and words in err


def test_a_folder_or_an_id(siflab, run, tmp_path, monkeypatch):
    copy = tmp_path / "copy"
    shutil.copytree(run.folder, copy)
    assert siflab("rerun", str(copy))[0] == 0
    monkeypatch.chdir(tmp_path)
    assert siflab("rerun", "copy", "--dry-run")[0] == 0
    code, _, err = siflab("rerun", "./nothing")
    assert code == 3 and "no run folder" in err
    assert siflab("rerun", "zzz")[0] == 3


def test_resume(siflab, run):
    code, out, _ = siflab("resume", run.id)
    assert (code, out) == (0, f"run {run.id} goes on as job 43, from attempt 2\n")
    code, _, err = siflab("resume", run.id, "--json")
    assert code == 2 and "has not ended" in err


def test_repair(siflab, slurm, run):
    killed(run)
    (Path(run.folder) / "attempts/1/result.json").unlink()
    code, out, _ = siflab("repair", run.id)
    assert code == 0 and out.startswith("attempt 1: its journal was replayed into output.ipynb")
    CONTRACT.check_schema("Repair", json.loads(siflab("repair", run.id, "--json")[1]))
    Path(run.folder, "attempts/1/output.ipynb").write_text("damaged")
    assert siflab("repair", run.folder, "--force")[0] == 1
    slurm.answers["squeue"] = UNREACHABLE
    assert siflab("repair", run.folder)[0] in (1, 2)


def test_export(siflab, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, _ = siflab("export", run.id)
    name = f"{Path(run.folder).name}.tar.gz"
    assert code == 0 and out.startswith(f"{tmp_path / name}: ")
    with tarfile.open(name) as archive:
        assert f"{Path(run.folder).name}/index.html" in archive.getnames()
    assert siflab("export", run.id)[0] == 2, "it is there already"
    done = json.loads(siflab("export", run.id, "-o", "e.zip", "--json")[1])
    assert done["path"] == str(tmp_path / "e.zip") and done["left_out"] == []
    assert siflab("export", run.id, "-o", "e.rar")[0] == 2


def test_provenance(siflab, run):
    told = json.loads(siflab("show", run.id, "--provenance")[1])
    CONTRACT.check_schema("Provenance", told)
    assert told["source"]["sha256"] == run.source_sha256
