"""Another user's process on a session's node: it takes ports before, beside and after the server, and looks for secrets."""

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest
import requests

from tests.cluster.hub import PYTHON, USERS, running_hub, site, slurm, wait_for, why_not
from tests.cluster.lab import PROGRAM, Lab
from tests.cluster.test_session import _decoded, _page, _tokens_of_processes

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif(not os.environ.get("SIFLAB_TEST_CLUSTER"), reason="no cluster of cluster/ to enter a node of"),
]
ALICE, BOB = USERS[0], USERS[1]
HELD = Path(f"~{ALICE}/.siflab-test-hold").expanduser()
THIEF = """
import socket, sys, threading, time
kept = []
def serve(listener):
    while True:
        connection = listener.accept()[0]
        connection.recv(65536)
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 6\\r\\nConnection: close\\r\\n\\r\\nSTOLEN")
        connection.close()
for line in sys.stdin:
    word, address, port = line.split()
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    while True:
        thief = socket.socket(family)
        for option in (socket.SO_REUSEADDR, socket.SO_REUSEPORT):
            thief.setsockopt(socket.SOL_SOCKET, option, 1)
        if word == "bind6":
            thief.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            thief.bind((address, int(port)))
            thief.listen(8)
        except OSError as error:
            thief.close()
            if word == "wait":
                time.sleep(0.001)
                continue
            print("refused", error.errno, flush=True)
        else:
            threading.Thread(target=serve, args=(thief,), daemon=True).start()
            kept.append(thief)
            print("listens", flush=True)
        break
"""


@pytest.fixture(scope="module")
def lab():
    return Lab(Path(os.environ["SIFLAB_TEST_CLUSTER"]))


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """Its sessions wait before they begin to listen, as long as HELD is there."""
    held = 'while [ -e "$HOME/.siflab-test-hold" ]; do sleep 0.1; done; exec "$0" "$@"'
    cmd = ["sh", "-c", held, PYTHON, "-m", "jupyterhub.singleuser"]
    yield from running_hub(tmp_path_factory.mktemp("hub"), site(), f"c.SingularitySlurmSpawner.cmd = {cmd!r}")
    HELD.unlink(missing_ok=True)


class Thief:
    """A process of BOB on a node."""

    def __init__(self, lab, node):
        self.process = subprocess.Popen(
            [str(PROGRAM), "--root", str(lab.root), "node-exec", node, "runuser", "-u", BOB, "--",
             "/usr/bin/python3", "-c", THIEF],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip

    def ask(self, word, address, port):
        self.process.stdin.write(f"{word} {address} {port}\n")

    def told(self):
        return self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(20)


def ports(hub):
    return re.findall(r"claimed port (\d+)", hub.log())


def address_of(node):
    return re.search(r"NodeAddr=(\S+)", slurm("scontrol", "show", "node", node))[1]


BEFORE = [("bind", "{node}"), ("bind", "0.0.0.0"), ("bind", "::"), ("bind6", "::")]


@pytest.fixture(scope="module")
def session(hub, lab):
    """(job, port, stolen ports) of a session of ALICE whose first four ports were taken before it listened."""
    node = slurm("sinfo", "--noheader", "--partition=cpu", "--format=%n").split()[0]
    HELD.touch()
    with Thief(lab, node) as thief:
        hub.spawn(ALICE, profile="cpu")
        for number, (word, address) in enumerate(BEFORE):
            wait_for(lambda seen=number: len(ports(hub)) > seen, 60, "a port is announced", hub.told, pause=0.01)
            thief.ask(word, address.format(node=address_of(node)), ports(hub)[number])
            assert thief.told() == "listens"
        wait_for(lambda: len(ports(hub)) > len(BEFORE), 60, "another port", hub.told)
        HELD.unlink()
        hub.wait_ready(ALICE)
        (job,) = hub.jobs(ALICE)
        yield job, ports(hub)[-1], ports(hub)[:-1]


def test_a_port_that_somebody_took_before_is_never_a_route(hub, session):
    _, port, stolen = session
    assert port not in stolen and len(set(stolen)) == len(BEFORE)
    routes = hub.log().count("Adding user")
    assert routes == 1
    assert hub.notebook(ALICE).json()["kernels"] == 0


@pytest.mark.parametrize(("word", "address"), [*BEFORE, ("bind", "127.0.0.1")])
def test_nobody_listens_beside_the_server(hub, lab, session, word, address):
    job, port, _ = session
    with Thief(lab, job["node"]) as thief:
        thief.ask(word, address.format(node=address_of(job["node"])), port)
        told = thief.told()
        assert told.startswith("refused") or word == "bind6", "an IPv6 socket alone is not where the route leads"
        assert hub.notebook(ALICE).json()["kernels"] == 0


def test_another_user_of_the_node_sees_no_secret(lab, session):
    job, _, _ = session
    tokens = _tokens_of_processes(job["id"])
    (folder,) = Path("/tmp").glob(f"siflab.{job['id']}.*")
    code = re.search('"code": "([A-Za-z0-9_-]{43})"', _decoded(slurm("sacct", "--batch-script", "--jobs", job["id"])))
    assert tokens and code
    look = f"""{{
        find {folder} -maxdepth 1; cat {folder}/* {folder}/*/*
        for pid in $(ls /proc | grep '^[0-9]*$'); do
            cat /proc/$pid/cmdline /proc/$pid/environ /proc/$pid/maps; ls -l /proc/$pid/fd /proc/$pid/cwd/ /proc/$pid/root/run/siflab
        done
        squeue -o %all; squeue -O ALL; scontrol --details show job {job["id"]}; scontrol write batch_script {job["id"]} -
        sacct -a -p -o ALL; sacct -a --batch-script -j {job["id"]}; sacct -a --env-vars -j {job["id"]}
        sstat -a -p -j {job["id"]}; cat ~{ALICE}/.siflab/sessions/{job["id"]}.log; }} 2>&1 | tr -cd '[:print:]\n' """
    secrets = [code[1], *tokens, f"{folder}/session.json"]

    def found(user):
        as_user = ("runuser", "-u", user, "--", "env", f"SLURM_CONF={os.environ['SLURM_CONF']}", "sh", "-c", look)
        done = lab.on(job["node"], *as_user)
        assert f"JobId={job['id']}" in done.stdout, "it did look"
        return [number for number, secret in enumerate(secrets) if secret in done.stdout]

    assert found(BOB) == []
    assert found(ALICE) == list(range(len(secrets))), "the look is able to find them"


def test_refused_claims_are_shown_to_administrators(hub, lab, session):
    job = session[0]
    claim = {"user": ALICE, "server": "", "code": "x" * 43, "claimant": "c" * 32, "port": 5000, "job_id": job["id"],
             "node": job["node"]}  # fmt: skip
    url = f"http://{hub.address}:{hub.hub_port}/hub/api/siflab/claim"
    post = ["curl", "-s", "-X", "POST", "-H", "X-Forwarded-For: 1.2.3.4", "-d", json.dumps(claim), url]
    for _ in range(11):
        told = json.loads(lab.on(job["node"], *post).stdout)
        assert "does not accept" in told["message"]["en"]
    shown = hub.api("GET", "siflab/refused-claims").json()
    [mine] = [one for one in shown["sessions"] if one["user"] == ALICE]
    assert mine["last"][0]["why"] == "wrong code" and mine["last"][0]["count"] == 11
    assert mine["last"][0]["address"] == address_of(job["node"]), "not what a header says"
    assert hub.log().count(f"from {address_of(job['node'])} refused: wrong code") == 10
    assert "x" * 43 not in hub.log() + json.dumps(shown)
    token = hub.api("POST", f"users/{ALICE}/tokens", json={"note": "test"}).json()["token"]
    for headers in ({}, {"Authorization": f"token {token}"}):
        answer = requests.get(f"{hub.url}/hub/api/siflab/refused-claims", headers=headers, timeout=10)
        assert answer.status_code == 403 and "wrong code" not in answer.text


def shut_down(hub, job):
    hub.notebook(ALICE, "api/shutdown", method="POST")


def kill_server(hub, job):
    """As the kernel does when memory runs out."""
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            own = f"SLURM_JOB_ID={job['id']}" in file.read_text("latin-1")
            server = own and b"jupyterhub.singleuser" in (file.parent / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if server:
            os.kill(int(file.parent.name), signal.SIGKILL)


def cancel(hub, job):
    slurm("scancel", job["id"])


WAYS = [(shut_down, "was shut down"), (kill_server, "killed by a signal"), (cancel, "cancelled by root")]


@pytest.mark.parametrize(("end", "words"), WAYS, ids=[end.__name__ for end, _ in WAYS])
def test_who_waits_for_the_port_is_shown_to_nobody_when_the_session_ends(hub, lab, session, end, words):
    if not hub.is_ready(ALICE):
        hub.spawn(ALICE, profile="cpu")
        hub.wait_ready(ALICE)
    (job,), port = hub.jobs(ALICE), ports(hub)[-1]
    browser = requests.Session()
    browser.headers["Authorization"] = f"token {hub.api('POST', f'users/{ALICE}/tokens').json()['token']}"
    seen = []

    def gone():
        told = browser.get(f"{hub.url}/user/{ALICE}/api/status", timeout=20, allow_redirects=False)
        seen.append(told.text)
        return told.status_code not in (200, 503) and not hub.server(ALICE).get("ready")

    with Thief(lab, job["node"]) as thief:
        thief.ask("wait", "0.0.0.0", port)
        end(hub, job)
        wait_for(gone, 60, "no route", hub.told, pause=0.001)
        assert thief.told() == "listens", "it is free at last, and nobody is sent there"
        gone()
        assert [text for text in seen if "STOLEN" in text] == []
        hub.wait_stopped(ALICE)
        gone()
        assert "STOLEN" not in seen[-1]
    assert words in _page(hub, ALICE, "hub/spawn")
