"""A shim as a process of its own, and the server that the Hub of the tests answers with."""

import json
import socket
import sys

import pytest

SERVER = """#!python
import os, signal, socket, sys
from urllib.parse import urlsplit
port = urlsplit(os.environ["JUPYTERHUB_SERVICE_URL"]).port
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
print("binding", port, flush=True)
listener.bind(("127.0.0.1", port))
listener.listen(5)
def stop(number, frame):
    print("stopped by", number, flush=True)
    sys.exit(int(os.environ.get("ON_STOP", "0")))
signal.signal(signal.SIGTERM, signal.SIG_IGN if "DEAF" in os.environ else stop)
signal.signal(signal.SIGHUP, stop)
while True:
    connection = listener.accept()[0]
    word = connection.recv(10).decode()
    if word == "exit":
        sys.exit(5)
    if word == "kill":
        os.kill(os.getpid(), 9)
    if word == "env":
        connection.sendall(__import__("json").dumps(dict(os.environ)).encode())
    connection.close()
"""
CLAIM = {"user": "user1", "server": "", "code": "the-code-of-this-start", "boot_limit": 30}
RUN = "import sys; sys.path.insert(0, sys.argv[1] + '/node.pyz'); from siflab.node.shim import Shim; from siflab.node.hub import Hub; "


@pytest.fixture
def shim(folder, hub, started, make_program):
    """Start the shim; the Hub answers with the server above unless the test changes `hub.answer`."""
    hub.answer = {
        "argv": [str(make_program(folder.parent / "server", SERVER))],
        "env": {"JUPYTERHUB_API_TOKEN": "a-secret-token"},
        "files": {"key.pem": "a-secret-key"},
        "session": {"user": "user1", "job_id": "77"},
        "site": {"name": "demo"},
    }

    def start(environment=None, code=None, **claim):
        (folder / "claim.json").write_text(json.dumps({**CLAIM, "claim_url": hub.url, "ca": None, **claim}))
        argv = [sys.executable, "-I", folder / "node.pyz", "shim", folder]
        if code:
            argv = [
                sys.executable,
                "-I",
                "-c",
                RUN + code,
                folder,
                json.dumps({**CLAIM, "claim_url": hub.url, **claim}),
            ]
        env = {"PATH": "/usr/bin:/bin", "HOME": "/workspace/user1", "SLURM_JOB_ID": "77", "SLURMD_NODENAME": "gpu01"}
        return started(argv, env={**env, **(environment or {})})

    return start


def ask(port, word):
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(word.encode())
        with connection.makefile("rb") as answer:
            return answer.read()


def ended(process, timeout=20):
    """(exit code, standard output, standard error)."""
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out.decode(), err.decode()


def ready(hub):
    """The port, when the shim reports the server ready."""
    while True:
        verb, body = hub.next()
        if verb == "ready":
            return body["port"]
        assert verb == "claim", body
