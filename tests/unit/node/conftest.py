"""What the tests of the node's side share: the archive as a job has it, a Hub, and commands that stand for Slurm's."""

import os
import stat
import subprocess
import sys

import pytest

from siflab.node.archive import build_archive
from tests.unit.node.bridge_process import session
from tests.unit.node.fake_hub import FakeHub
from tests.unit.node.shim_process import shim

__all__ = ["session", "shim"]


@pytest.fixture
def folder(tmp_path):
    """A session's private folder with the archive in it."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "node.pyz").write_bytes(build_archive())
    return private


@pytest.fixture
def hub():
    fake = FakeHub()
    yield fake
    fake.close()


@pytest.fixture
def started():
    """Start processes that are ended after the test, whatever happened."""
    processes = []

    def start(argv, **kwargs):
        kwargs = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **kwargs}
        process = subprocess.Popen(
            [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in argv],
            start_new_session=True,
            **kwargs,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, 9)
        process.communicate()


def program(path, text):
    """A program file: `text` is Python or sh, by its first line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("#!python", "#!" + sys.executable), "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def make_program():
    return program
