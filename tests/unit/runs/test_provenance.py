"""run.json: what a run was made of, secrets as names, and git asked without running anything of the repository's."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from siflab.errors import SlurmRefused
from siflab.runs import RunRequest, submit
from siflab.runs.folder import RunFolder
from siflab.runs.git import git_state
from siflab.runs.provenance import arguments_without_secrets, looks_secret, provenance
from tests.unit.runs.attempt_files import begin, end
from tests.unit.runs.fake_slurm import done, failing

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="no git here")


def git(folder, *words):
    names = ["-c", "user.name=user1", "-c", "user.email=user1@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(viewer, notebook):
    folder = Path(viewer.home) / "work"
    path = notebook("work/train.ipynb", "import torch\ntorch.manual_seed(3)")
    git(folder, "init", "-q", "-b", "topic")
    (folder / "lib.py").write_text("a = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return path


def read(run):
    return json.loads(RunFolder(Path(run.folder)).provenance.read_text())


@needs_git
def test_a_run_from_a_repository(viewer, repository):
    (repository.parent / "lib.py").write_text("a = 2\n")
    run = submit(viewer, RunRequest(path=str(repository), profile="a100", gpus=2))
    told = read(run)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository.parent, capture_output=True, text=True)
    assert told["source"]["git"] == {
        "commit": head.stdout.strip(),
        "branch": "topic",
        "changed_files": 1,
        "source_tracked": True,
        "diff": "git.diff",
        "diff_truncated": False,
    }
    assert "+a = 2" in (Path(run.folder) / "git.diff").read_text()
    assert told["source"]["sha256"] == run.source_sha256
    assert told["seeds"] == [{"cell": 0, "line": 2, "call": "torch.manual_seed", "value": "3"}]
    assert (told["resources"]["gpus"], told["request"]["gpus"], told["image"]["signature"]) == (2, 2, "not checked")


HOSTILE = [
    "filter.x.clean", "filter.x.process", "filter.a=b.c.clean",
    "core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "core.pager", "core.sshCommand",
]  # fmt: skip


@needs_git
def test_nothing_of_the_repositorys_settings_runs(tmp_path, repository):
    marker, program = tmp_path / "it ran", tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\n")
    program.chmod(0o755)
    for name in HOSTILE:
        git(repository.parent, "config", name, str(program))
    (repository.parent / ".gitattributes").write_text("* diff=x filter=x\n*.md filter=a=b.c\n")
    hooks = repository.parent / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    shutil.copy(program, hooks / "post-index-change")
    (repository.parent / "lib.py").write_text("a = 2\n")
    state = git_state(repository)
    assert state is not None and state.changed == 1 and b"+a = 2" in state.diff
    assert not marker.exists()


@needs_git
def test_the_environment_leads_git_nowhere(monkeypatch, repository):
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "/bin/false")
    state = git_state(repository)
    assert state is not None and state.branch == "topic" and state.changed == 0 and state.diff == b""


@needs_git
def test_a_large_diff_is_cut(monkeypatch, repository):
    monkeypatch.setattr("siflab.runs.git.DIFF_LIMIT", 5000)
    (repository.parent / "lib.py").write_text("".join(f"line{i} = {i}\n" for i in range(5000)))
    state = git_state(repository)
    assert state is not None and state.truncated and len(state.diff) == 5000


@needs_git
def test_no_repository_no_git_no_patience(monkeypatch, viewer, notebook, repository):
    assert git_state(notebook("alone.ipynb")) is None
    assert git_state(Path("/nowhere/at/all.ipynb")) is None
    assert git_state(repository, patience=0) is None
    monkeypatch.setenv("PATH", "/nowhere")
    assert git_state(repository) is None


@needs_git
def test_a_git_that_hangs_is_ended(monkeypatch, tmp_path, repository):
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 1000 & echo $! > " + str(tmp_path / "child") + "\nwait\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    assert git_state(repository, patience=0.5) is None
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("api_key", True), ("API_KEY", True), ("hf-token", True), ("hfToken", True), ("password", True), ("wandb.token", True),
        ("credentials", True), ("sort_key", False), ("tokenizer", False), ("monkey", False), ("epochs", False), ("pass_rate", False),
    ],
)  # fmt: skip
def test_names_that_look_secret(name, secret):
    assert looks_secret(name) is secret


def test_secrets_are_names_in_run_json(viewer, tmp_path):
    script = Path(viewer.home) / "t.py"
    script.write_text("print(1)\n")
    arguments = ("--epochs", "3", "--token", "s3cret", "--api-key=s3cret", "--password", "--flag")
    told = RunFolder(Path(submit(viewer, RunRequest(path=str(script), profile="a100", arguments=arguments)).folder))
    text = told.provenance.read_text()
    assert "s3cret" not in text
    shown = ["--epochs", "3", "--token", "***", "--api-key=***", "--password", "--flag"]
    assert json.loads(text)["arguments"] == shown == json.loads(text)["request"]["arguments"]
    assert arguments_without_secrets(["--token", "-x"]) == ["--token", "-x"]


def test_secret_parameters(viewer, notebook):
    path = notebook("p.ipynb", "api_token = ''\nepochs = 1")
    data = json.loads(path.read_text())
    data["cells"][0]["metadata"]["tags"] = ["parameters"]
    path.write_text(json.dumps(data))
    parameters = {"api_token": "s3cret", "epochs": 2}
    run = submit(viewer, RunRequest(path=str(path), profile="a100", parameters=parameters))
    told = read(run)
    assert "s3cret" not in json.dumps(told)
    assert told["parameters"] == {"api_token": "***", "epochs": 2} == told["request"]["parameters"]


def test_a_run_that_slurm_refuses_leaves_nothing(viewer, slurm, request_for):
    slurm.answers["sbatch"] = failing("sbatch: error: Batch job submission failed: Job violates accounting policy\n")
    with pytest.raises(SlurmRefused):
        submit(viewer, request_for())
    assert list(Path(viewer.runs_root()).iterdir()) == []


def test_what_is_merged_when_it_is_read(viewer, slurm, request_for):
    run = submit(viewer, request_for())
    folder = begin(run.folder, "42")
    (folder.attempt(1).folder / "facts.json").write_text('{"python": "3.11.2"}')
    end(folder)
    row = "\x1f".join(["42", "COMPLETED", "billing=2,cpu=2,mem=4G", "gpu01", *"x" * 8]) + "\n"
    slurm.answers["sacct"] = lambda argv, _: done(argv, row)
    told = provenance(viewer, folder)
    (attempt,) = told["attempts"]
    assert (attempt["job_id"], attempt["node"], attempt["status"]) == ("42", "gpu01", "completed")
    assert attempt["facts"] == {"python": "3.11.2"} and len(attempt["output_sha256"]) == 64
    assert told["slurm"][0]["AllocTRES"] == "billing=2,cpu=2,mem=4G"
    slurm.answers["sacct"] = failing("sacct: error")
    folder.provenance.write_text("damaged")
    assert provenance(viewer, folder)["slurm"] == []
