"""The end of a session that was ready: the Hub is told, and the port is nobody else's until it knows."""

import os
import signal
import socket
import sys
import threading

import pytest

from tests.unit.node.shim_process import ask, ended, ready

FAST = "c = __import__('json').loads(sys.argv[2]); sys.exit(Shim(sys.argv[1], c, farewell=%s).run())"


def told(hub, verb="ended"):
    while True:
        seen, body = hub.next()
        if seen == verb:
            return body


def can_be_taken(port):
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            thief.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@pytest.mark.parametrize(("word", "code"), [("exit", 5), ("kill", 46)])
def test_the_hub_is_told_with_which_code_the_server_ended(shim, hub, word, code):
    process = shim()
    hub.listen()
    ask(ready(hub), word)
    body = told(hub)
    assert (body["exit_code"], body["job_id"]) == (code, "77")
    assert body["claimant"] == hub.bodies("claim")[0]["claimant"]
    assert ended(process)[0] == code
    assert len(hub.bodies("ended")) == 1


def test_the_port_is_held_until_the_hub_has_answered(shim, hub):
    hub.gate = threading.Event()
    process = shim(code=FAST % 60)
    hub.listen()
    port = ready(hub)
    ask(port, "kill")
    told(hub)
    assert not can_be_taken(port)
    with pytest.raises(ConnectionRefusedError):
        ask(port, "env")
    assert process.poll() is None
    hub.gate.set()
    assert ended(process)[0] == 46
    assert can_be_taken(port)


def test_a_hub_that_is_away_does_not_hold_the_job_up(shim, hub):
    hub.plans["ended"] = ["drop"] * 100
    process = shim(code=FAST % 0.2)
    hub.listen()
    ask(ready(hub), "exit")
    assert ended(process)[0] == 5


def test_a_job_that_is_told_to_end_says_so_while_its_server_shuts_down(shim, hub):
    hub.answer["env"]["DEAF"] = "yes"
    process = shim()
    hub.listen()
    port = ready(hub)
    process.terminate()
    assert told(hub)["exit_code"] == 47
    ask(port, "exit")
    assert ended(process)[0] == 5
    assert len(hub.bodies("ended")) == 1


def test_a_session_that_never_was_ready_has_no_end_to_tell(shim, hub):
    hub.answer["argv"] = [sys.executable, "-c", "pass"]
    process = shim()
    hub.listen()
    ended(process)
    assert hub.bodies("ended") == []


def test_a_signal_that_another_thread_gets_is_heeded(shim, hub):
    """The kernel may give it to any thread, and then no call of the main thread is interrupted."""
    process = shim()
    hub.listen()
    ready(hub)
    others = [int(name) for name in os.listdir(f"/proc/{process.pid}/task") if int(name) != process.pid]
    assert others
    to_thread(process.pid, min(others), signal.SIGTERM)  # it passes the server's output on
    assert ended(process)[0] == 0


def to_thread(pid, thread, number):
    """tgkill(2)"""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.tgkill(pid, thread, int(number)) == 0, os.strerror(ctypes.get_errno())
