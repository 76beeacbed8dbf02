"""Run folders to try the runner on."""

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from siflab.inside import AttemptFolder, build_archive, read_result
from siflab.inside.journal import read_journal


def code_cell(source, index, tags=()):
    metadata = {"tags": list(tags)} if tags else {}
    return {
        "cell_type": "code",
        "id": f"cell-{index}",
        "metadata": metadata,
        "source": source,
        "outputs": [],
        "execution_count": None,
    }


def notebook_of(*cells):
    """Code cells of the given sources; ``(source, tag)`` gives a tag."""
    made = [code_cell(*((c, i) if isinstance(c, str) else (c[0], i, c[1:]))) for i, c in enumerate(cells)]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": made}


@dataclass
class Run:
    folder: Path
    temporary: Path
    process: subprocess.Popen | None = None

    @property
    def attempt(self):
        return AttemptFolder(self.folder, 1)

    @property
    def result(self):
        return read_result(self.attempt)

    @property
    def notebook(self):
        return json.loads(self.attempt.output.read_text("utf-8"))

    @property
    def records(self):
        return [record for record in read_journal(self.attempt.journal) if record is not None]

    def states(self):
        return [cell["metadata"]["siflab"]["status"] for cell in self.notebook["cells"]]

    def text(self, index):
        """All that a cell's streams hold."""
        return "".join(o["text"] for o in self.notebook["cells"][index]["outputs"] if o["output_type"] == "stream")

    def start(self, *, python=(sys.executable,), number=1, **popen):
        command = [*python, str(self.folder / "runner.pyz"), "--run", str(self.folder), "--attempt", str(number)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        # ipykernel behaves otherwise where it sees pytest's variables
        environment = {**os.environ, "TMPDIR": str(self.temporary)}
        environment = {name: value for name, value in environment.items() if not name.startswith("PYTEST_")}
        self.process = subprocess.Popen(command, cwd="/", env=environment, **pipes, **popen)
        return self

    def end(self, timeout=60):
        """(exit code, what the runner printed)."""
        printed, _ = self.process.communicate(timeout=timeout)
        return self.process.returncode, printed

    def await_text(self, text, timeout=60):
        """Until the journal has it."""
        deadline = time.monotonic() + timeout
        while not self.attempt.journal.exists() or text not in self.attempt.journal.read_text("utf-8"):
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, f"{text} did not come"
            time.sleep(0.01)

    def kernel(self):
        """The process id of the runner's only child."""
        [child] = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)


@pytest.fixture
def short_folder():
    """A folder whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="sft-") as folder:
        yield Path(folder)


@pytest.fixture
def make_run(tmp_path, short_folder):
    """make_run(*cells, **request) -> a run folder that is ready to run."""
    made = []

    def make(*cells, **request):
        folder = tmp_path / f"run-{len(made)}"
        folder.mkdir()
        about = {
            "id": "r-1",
            "name": "a name",
            "notebook": "/x.ipynb",
            "workdir": str(folder),
            "kernel": None,
            "mode": "notebook",
        }
        (folder / "request.json").write_text(json.dumps({**about, **request}))
        (folder / "input.ipynb").write_text(json.dumps(notebook_of(*cells)))
        (folder / "runner.pyz").write_bytes(build_archive())
        made.append(Run(folder, short_folder))
        return made[-1]

    yield make
    for run in made:
        if run.process is not None and run.process.poll() is None:
            run.process.kill()
            run.process.wait()


@pytest.fixture
def notebook():
    return notebook_of


def is_gone(pid):
    """Whether a process has ended (a zombie has)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


@pytest.fixture
def await_end():
    """await_end(pid): until that process has ended."""

    def wait(pid, timeout=10):
        deadline = time.monotonic() + timeout
        while not is_gone(pid):
            assert time.monotonic() < deadline, f"{pid} lives on"
            time.sleep(0.02)

    return wait


@pytest.fixture
def inside_run(make_run, monkeypatch):
    """As in the kernel of attempt 1 of a run."""
    run = make_run("")
    run.attempt.make()
    for name, value in {
        "SIFLAB_RUN_FOLDER": run.folder,
        "SIFLAB_ATTEMPT": 1,
        "CHECKPOINT_DIR": run.attempt.checkpoints,
    }.items():
        monkeypatch.setenv(name, os.fspath(value) if isinstance(value, Path) else str(value))
    return run


@pytest.fixture(scope="session")
def stub_nvml_library(tmp_path_factory):
    """The folder of the stub NVML, compiled (`stub_nvml.c`)."""
    folder = tmp_path_factory.mktemp("stub-nvml")
    source = Path(__file__).with_name("stub_nvml.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "libnvidia-ml.so.1", source], check=True)
    return folder


@pytest.fixture
def stub_nvml(stub_nvml_library, tmp_path):
    """stub_nvml(lines) -> an environment in which the stub NVML answers with them; again, to change what it says."""

    def answer(lines):
        told = tmp_path / "nvml.txt"
        told.with_suffix(".new").write_text("".join(f"{line}\n" for line in lines))
        told.with_suffix(".new").replace(told)
        return {**os.environ, "LD_LIBRARY_PATH": str(stub_nvml_library), "STUB_NVML": str(told)}

    return answer
