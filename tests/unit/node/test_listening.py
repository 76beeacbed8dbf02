"""Whose is the listening socket?"""

import contextlib
import os
import socket
import subprocess
import sys

import pytest

from siflab.node.listening import FOREIGN, NOBODY, OURS, ReservedPort, owner
from tests.unit.node.fake_hub import listener_on

LISTEN = """
import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind((sys.argv[2], int(sys.argv[1]))); s.listen(1); print("listening", flush=True); sys.stdin.read()
"""


@contextlib.contextmanager
def reserved():
    with contextlib.closing(ReservedPort()) as one:
        yield one.number


@pytest.fixture
def listening_child(started):
    def start(port, address="127.0.0.1", wrapper=()):
        process = started(
            [*wrapper, sys.executable, "-c", LISTEN, port, address], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout.readline() == b"listening\n"
        return process

    return start


def test_nobody_listens_on_a_reserved_port():
    with reserved() as port:
        assert owner(port, os.getpid()) == NOBODY


def test_a_child_can_listen_on_the_port_that_we_hold(listening_child):
    with reserved() as port:
        child = listening_child(port, "0.0.0.0")
        assert owner(port, child.pid) == OURS


def test_a_grandchild_counts_as_ours(listening_child):
    with reserved() as port:
        shell = listening_child(port, wrapper=["sh", "-c", '"$@"; :', "sh"])
        assert owner(port, shell.pid) == OURS


def test_another_process_on_the_port_is_foreign(listening_child):
    with reserved() as port:
        child = listening_child(port)
        with listener_on(port, "127.0.0.2"):
            assert owner(port, child.pid) == FOREIGN
        assert owner(port, child.pid) == OURS


def test_a_process_that_only_listens_elsewhere_owns_nothing(listening_child):
    with reserved() as port, reserved() as other:
        child = listening_child(other)
        with listener_on(port):
            assert owner(port, child.pid) == FOREIGN


@pytest.mark.skipif(not os.path.exists("/proc/net/if_inet6"), reason="no IPv6 here")
def test_ipv6_is_looked_at_too(started):
    child = started(["sleep", "60"])
    thief = socket.socket(socket.AF_INET6)
    try:
        thief.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 loopback here")
    thief.listen(1)
    with thief:
        assert owner(thief.getsockname()[1], child.pid) == FOREIGN


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "::", "::1"])
@pytest.mark.parametrize("v6only", [0, 1])
def test_a_port_that_is_kept_is_nobody_else_s_after_the_server_s_end(listening_child, address, v6only):
    with contextlib.closing(ReservedPort()) as held:
        child = listening_child(held.number, "0.0.0.0")
        held.keep()
        assert owner(held.number, child.pid) == OURS
        with socket.create_connection(("127.0.0.1", held.number), 10):
            child.kill()
            child.wait()
        thief = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
        if ":" in address:
            thief.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, v6only)
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with thief, pytest.raises(OSError, match="in use"):
            thief.bind((address, held.number))
    listener_on(held.number).close()
