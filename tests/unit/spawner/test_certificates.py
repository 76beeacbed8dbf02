"""A session's certificates under internal_ssl: who may talk to its server, and for what host it is good."""

import socket
import ssl
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from certipy import Certipy

from siflab_spawner.claims.certificates import NAMES, OWN_NAMES, is_good_for, session_certificate


@pytest.fixture
def app(tmp_path):
    """What JupyterHub has of it: the CA for servers, and the bundle that servers trust."""
    store = Certipy(store_dir=str(tmp_path))
    for name in ("notebooks-ca", "hub-ca"):
        store.create_ca(name)
    bundle = tmp_path / "bundle.pem"
    bundle.write_bytes(Path(store.store.get_record("hub-ca")["files"]["cert"]).read_bytes())
    return SimpleNamespace(internal_certs_location=str(tmp_path), internal_trust_bundles={"notebooks-ca": str(bundle)})


def written(app, folder):
    folder.mkdir()
    for name, text in session_certificate(app, ["gpu01", "10.0.0.7"]).items():
        (folder / name).write_text(text)
    return folder


def talks(server_folder, client_folder, names):
    """Whether the server lets a client with these certificates in."""
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=server_folder / "ca.pem")
    server.load_cert_chain(server_folder / "cert.pem", server_folder / "key.pem")
    server.verify_mode = ssl.CERT_REQUIRED
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    client.load_cert_chain(client_folder / names[1], client_folder / names[0])
    ours, theirs = socket.socketpair()
    result = []

    def serve():
        try:
            with server.wrap_socket(theirs, server_side=True) as connection:
                connection.sendall(b"in")
                result.append(True)
        except OSError:
            result.append(False)
            theirs.close()

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with client.wrap_socket(ours) as connection:
            return connection.recv(2) == b"in"
    except OSError:
        return False
    finally:
        thread.join()


def test_its_own_shim_may_talk_to_a_server_and_no_other_session(app, tmp_path):
    one, other = written(app, tmp_path / "one"), written(app, tmp_path / "other")
    assert talks(one, one, OWN_NAMES) is True
    assert talks(one, other, OWN_NAMES) is False
    assert talks(one, other, NAMES) is False, "a server's certificate is none of a client that others trust"


def test_the_hosts_that_it_is_good_for(app):
    certificate = session_certificate(app, ["gpu01", "10.0.0.7"])["cert.pem"].encode()
    for host, good in (("gpu01", True), ("10.0.0.7", True), ("localhost", True), ("gpu02", False), ("10.0.0.8", False)):
        assert is_good_for(certificate, host) is good
    own = session_certificate(app, [])[OWN_NAMES[1]].encode()
    assert not is_good_for(own, "localhost"), "no server can use it"
