"""A client whose bridge does not answer; the test stands for the bridge."""

import os
import signal
import socket

import pytest

from siflab.node import protocol
from tests.unit.node.bridge_process import Session
from tests.unit.node.test_shim_end import to_thread


@pytest.fixture
def deaf(folder, tmp_path, started, make_program):
    """(a session, what its clients connect to)"""
    home = tmp_path / "home"
    home.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / protocol.SOCKET))
        listener.listen(1)
        listener.settimeout(20)
        yield Session(folder, home, started, make_program), listener


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("answered", [False, True])
def test_a_second_signal_without_an_answer_ends_the_client(deaf, number, answered):
    session, listener = deaf
    client = session.client("squeue")
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(20)
        kinds = [protocol.receive(connection)[0] for _ in range(2)]
        assert kinds == [protocol.REQUEST, protocol.INPUT]
        client.send_signal(number)
        assert protocol.receive(connection) == (protocol.SIGNAL, bytes([number]))
        if answered:  # then the next one is passed on too
            protocol.send(connection, protocol.OUTPUT, b"x")
            assert client.stdout.read(1) == b"x"
            client.send_signal(number)
            assert protocol.receive(connection) == (protocol.SIGNAL, bytes([number]))
        client.send_signal(number)
        _, errors = client.communicate(timeout=20)
    assert client.returncode == -number
    assert b"squeue can tell" in errors


def test_a_signal_that_another_thread_gets_is_heeded(deaf):
    """The kernel may give it to any thread, and then no call of the main thread is interrupted."""
    session, listener = deaf
    client = session.client("squeue")
    connection, _ = listener.accept()
    with connection:
        connection.settimeout(20)
        assert [protocol.receive(connection)[0] for _ in range(2)] == [protocol.REQUEST, protocol.INPUT]
        protocol.send(connection, protocol.OUTPUT, b"x")
        assert client.stdout.read(1) == b"x", "the thread that receives is there"
        newest = max(int(name) for name in os.listdir(f"/proc/{client.pid}/task"))
        assert newest != client.pid
        to_thread(client.pid, newest, signal.SIGTERM)
        assert protocol.receive(connection) == (protocol.SIGNAL, bytes([signal.SIGTERM]))
