"""`siflab env create` as a process that is ended while pip waits for an index."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from siflab.environments import Store, program_text
from tests.unit.environments.test_making import everything_in

REPOSITORY = Path(__file__).parents[3]


@pytest.fixture
def silent_index():
    """An index that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


@pytest.fixture
def creating(place, silent_index, tmp_path):
    """The process, when pip has connected."""
    program = tmp_path / "environments"
    program.write_text(program_text(), "utf-8")
    env = {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "PIP_INDEX_URL": f"http://127.0.0.1:{silent_index.getsockname()[1]}/simple",
        "PIP_CONFIG_FILE": os.devnull,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", str(program), "--place", place.as_json(), "create", "nlp", "nosuch"],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    connection, _ = silent_index.accept()
    yield process
    connection.close()
    if process.poll() is None:
        process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_nothing(creating, place, number):
    assert Store(place).all()[0].state == "making"
    creating.send_signal(number)
    said, _ = creating.communicate(timeout=60)
    assert creating.returncode == 130
    assert said.splitlines()[-1] == "siflab: stopped; nothing half made was left"
    assert everything_in(place) == []


def test_what_is_killed_is_seen_as_unfinished(creating, place):
    creating.kill()
    creating.communicate(timeout=60)
    (left,) = Store(place).all()
    assert (left.state, left.packages) == ("unfinished", ["nosuch"])
