"""Daemons are found by their mark, and ended for certain."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.lab import processes
from cluster.lab.trouble import Trouble
from siflab.text import Text

WAIT = ["sleep", "600"]
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"
STUBBORN = [sys.executable, "-c", DEAF]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    found = processes.marked(tmp_path)
    processes.send(found, signal.SIGKILL)
    assert processes.wait_for_end(found, 10) == []


def test_a_daemon_is_found_by_its_role(root: Path) -> None:
    pid = processes.start(root, "one", WAIT, root / "log" / "one.log")
    assert processes.daemon(root, "one") == pid
    assert processes.daemon(root, "on") is None
    assert processes.daemon(Path(f"{root}x"), "one") is None
    assert processes.marked(root) == [pid]


def test_of_several_the_oldest_is_the_daemon(root: Path) -> None:
    first = processes.start(root, "one", WAIT, root / "one.log")
    second = processes.start(root, "one", WAIT, root / "one.log")
    assert processes.marked(root, "one") == [first, second]


def test_a_zombie_does_not_count_as_running(root: Path) -> None:
    pid = processes.start(root, "one", ["true"], root / "one.log")
    assert processes.wait_for_end([pid], 10) == []
    assert processes.daemon(root, "one") is None


def test_stop_ends_what_does_not_listen(root: Path) -> None:
    log = root / "one.log"
    pid = processes.start(root, "one", STUBBORN, log)
    processes.wait_until(Text.plain("the trap"), lambda: "ready" in log.read_text(), 10)
    processes.stop([pid], 0.2)
    assert processes.marked(root) == []


def test_stop_of_what_has_gone_is_no_error() -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    processes.stop([ended.pid], 1)


def test_waiting_in_vain_shows_the_end_of_the_log(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    log.write_text("first\n" * 50 + "Address already in use\n")
    with pytest.raises(Trouble) as caught:
        processes.wait_until(Text("The daemon", "守护进程"), lambda: False, 0.1, log)
    assert "Address already in use" in caught.value.message.en
    assert caught.value.message.en.count("first") < 50
    assert "守护进程" in caught.value.message.zh
