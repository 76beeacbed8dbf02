"""The route by which batchspawner's own spawners learn a port: one whole number, once, for the server whose token it is."""

from types import SimpleNamespace

import pytest

from siflab_spawner.claims.port_handler import PortRefused, read_port, set_port, starting_server
from siflab_spawner.spawner import SingularitySlurmSpawner

HOSTILE = [
    b"", b"{", b"null", b"[]", b"[1]", b"80", b'"port"', b"{}", b"\xff{}", b"[" * 500, b'{"port": {"port": 1}}',
    b'{"port": null}', b'{"port": true}', b'{"port": "80"}', b'{"port": 80.0}', b'{"port": 8e1}', b'{"port": NaN}',
    b'{"port": 0}', b'{"port": -1}', b'{"port": 65536}', b'{"port": 1' + b"0" * 900 + b"}", b'{"port": [80]}',
    b'{"Port": 80}', b'{"port": 80, "port": 81}', b'{"port": 80, "cmd": "x"}', b'{"cmd": ["sh"], "port": 80}',
    b'{"cmd": "sh"}', b'{"user": {"name": "root"}}', b'{"api_token": "x"}', b'{"__class__": 1}', b'[["port", 80]]',
    b'{"port": 80' + b" " * 1024 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("body", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_body(body):
    with pytest.raises(PortRefused) as refused:
        read_port(body)
    assert refused.value.status == 400


@pytest.mark.parametrize("port", [1, 40000, 65535])
def test_a_port(port):
    assert read_port(b'{"port": %d}' % port) == port


def server(token, pending="spawn", **more):
    return SimpleNamespace(api_token=token, pending=pending, port=0, **more)


def test_the_server_is_that_of_the_token():
    one, two = server("token-1"), server("token-2")
    assert starting_server([one, two], "token-2") is two


def test_of_a_wrapped_spawner_the_inner_one():
    inner = server("")
    assert starting_server([server("token-1", child_spawner=inner)], "token-1") is inner


@pytest.mark.parametrize("token", [None, "", "token-1x", "tøken"])
def test_another_token(token):
    with pytest.raises(PortRefused):
        starting_server([server("token-1"), server("")], token)


@pytest.mark.parametrize("pending", [None, "stop", "check"])
def test_only_while_it_starts(pending):
    with pytest.raises(PortRefused, match="not starting"):
        starting_server([server("token-1", pending)], "token-1")


def test_a_session_of_siflab_has_no_use_for_it():
    session = SingularitySlurmSpawner()
    with pytest.raises(PortRefused, match="claim"):
        starting_server([server("token-1", child_spawner=session)], "token-1")


def test_once_a_start():
    one = server("token-1")
    set_port(one, 40000)
    set_port(one, 40000)
    with pytest.raises(PortRefused, match="already"):
        set_port(one, 40001)
    assert one.port == 40000
