"""What counts as use of a session, and what does not; and what is reported to the Hub."""

import json
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from siflab.node import activity
from siflab.node.activity import Activity, moment_of
from siflab.node.usage import CpuTime, gpu_use

LONG_AGO, EARLIER = "2026-12-01T05:00:00.123456Z", "2026-12-01T06:30:00.000000Z"
LOG = "[I 2026-12-01 06:51:48.387 ServerApp] {} {} /user/u/{} (u@10.0.0.1) 0.40ms\n"


class FakeServer:
    """The session's server and the Hub in one; `answers` by path, `asked` and `reports` are what came."""

    def __init__(self):
        self.answers = {"api/kernels": [], "api/terminals": []}
        self.asked, self.reports, self.refuse = [], [], False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                outer.asked.append((path, query, self.headers["Authorization"]))
                answer = outer.answers.get(path.removeprefix("/user/u/"))
                data = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(404 if answer is None else 200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if not outer.refuse:
                    outer.reports.append((self.path, self.headers["Authorization"], body))
                self.send_response(503 if outer.refuse else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.http.server_port
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server():
    fake = FakeServer()
    yield fake
    fake.http.shutdown()
    fake.http.server_close()


@pytest.fixture
def session(server):
    return make(server)


def make(server, **environment):
    env = {
        "JUPYTERHUB_SERVICE_URL": f"http://0.0.0.0:{server.port}/user/u/",
        "JUPYTERHUB_SERVICE_PREFIX": "/user/u/",
        "JUPYTERHUB_API_TOKEN": "t0ken",
        "JUPYTERHUB_ACTIVITY_URL": f"http://127.0.0.1:{server.port}/hub/api/users/u/activity",
        "JUPYTERHUB_SERVER_NAME": "work",
        **environment,
    }
    return Activity(env, os.getpid(), {"interval": 300, "cpu": 10, "gpu": 5})


def kernel(state="idle", at=LONG_AGO):
    return {"id": "k", "execution_state": state, "last_activity": at}


NOT_NOW = [
    ({"api/kernels": [kernel(), kernel(at=EARLIER)]}, moment_of(EARLIER)),
    ({"api/kernels": [kernel("starting")]}, moment_of(LONG_AGO)),
    ({"api/terminals": [{"name": "1", "last_activity": EARLIER}]}, moment_of(EARLIER)),
    ({"api/terminals": None}, 0.0),
    ({}, 0.0),
]


@pytest.mark.parametrize(("answers", "last"), NOT_NOW)
def test_what_was_used_earlier(server, session, answers, last):
    server.answers.update(answers)
    session.look()
    assert session.last == last
    assert {query for _, query, _ in server.asked} == {"no_track_activity=1"}, "our own requests are no use"
    assert {token for _, _, token in server.asked} == {"token t0ken"}


NOW = [
    {"api/kernels": [kernel("busy")]},
    {"api/kernels": "not JSON"},
    {"api/kernels": None},
    {"api/kernels": [{}, 7]},
]


@pytest.mark.parametrize("answers", NOW)
def test_what_is_used_now(server, session, answers):
    server.answers.update(answers)
    begun = time.time()
    session.look()
    assert session.last >= begun


HEARD = [
    (LOG.format(201, "PUT", "api/contents/a%20b.ipynb"), True),
    (LOG.format(200, "POST", "siflab/runs"), True),
    (LOG.format(201, "POST", "api/kernels"), True),
    (LOG.format(204, "DELETE", "api/terminals/1"), True),
    (LOG.format(200, "GET", "api/kernels?1"), False),
    (LOG.format(204, "PUT", "lab/api/workspaces/default"), False),
    (LOG.format(403, "PUT", "api/contents/a.ipynb"), False),
    (LOG.format(200, "POST", "login?next=/api/contents/"), False),
    ("x" * 100000 + "\n" + LOG.format(200, "PUT", "api/contents/a"), True),
]


@pytest.mark.parametrize("step", [1, 7, 100000000])
@pytest.mark.parametrize(("text", "is_use"), HEARD)
def test_what_the_servers_log_tells(server, session, text, is_use, step):
    data = text.encode()
    for start in range(0, len(data), step):
        session.heard(data[start : start + step])
    begun = time.time()
    session.look()
    assert (session.last >= begun) is is_use
    session.last = 0.0
    session.look()
    assert session.last == 0.0, "it counts once"


def test_a_server_that_does_not_answer_is_in_use(server, session, capfd):
    session.look()
    server.http.shutdown()
    server.http.server_close()
    begun = time.time()
    session.look()
    session.look()
    assert session.last >= begun
    assert capfd.readouterr().err.count("counts as used") == 1


def test_nobody_else_who_listens_at_the_port_gets_the_token(server):
    other = process(REST)
    try:
        session = Activity(make(server).environment, other.pid, {"interval": 300, "cpu": 10, "gpu": 5})
        session.look()
        assert server.asked == [] and session.last, "what cannot be seen counts as use"
    finally:
        other.communicate(b"")


def test_what_cannot_be_begun_ends_no_session(server, capfd):
    class Child:
        pid, on_output = os.getpid(), None

    environment = {**make(server).environment, "JUPYTERHUB_SSL_CLIENT_CA": "/nowhere/ca.pem"}
    activity.watch({**environment, "JUPYTERHUB_SSL_CERTFILE": "x", "JUPYTERHUB_SSL_KEYFILE": "x",
                    "SIFLAB_ACTIVITY": '{"interval": 1, "cpu": 1, "gpu": 1}'}, Child())  # fmt: skip
    assert "cannot be told" in capfd.readouterr().err


def test_a_server_that_boots_is_no_trouble(server, session, capfd):
    server.answers["api/kernels"] = None
    session.look()
    assert session.last and capfd.readouterr().err == ""


def test_the_hub_is_told_when_there_is_news(server, session):
    server.answers["api/kernels"] = [kernel(at=EARLIER)]
    for _ in range(2):
        session.look()
        session.report()
    when = "2026-12-01T06:30:00Z"
    assert server.reports == [
        (
            "/hub/api/users/u/activity",
            "token t0ken",
            {"servers": {"work": {"last_activity": when}}, "last_activity": when},
        )
    ]


def test_what_the_hub_does_not_take_is_told_again(server, session):
    server.answers["api/kernels"], server.refuse = [kernel(at=EARLIER)], True
    session.look()
    session.report()
    server.refuse = False
    session.report()
    assert len(server.reports) == 1


def test_it_ends_with_the_server(server, session):
    alive = iter([True, True, True, True, False])
    session.run(lambda: next(alive), sleep=lambda seconds: None)
    assert len([path for path, _, _ in server.asked if path.endswith("api/kernels")]) == 2


def test_the_servers_output_is_heard(server):
    class Child:
        pid, on_output = os.getpid(), None

        def alive(self):
            return False

    child = Child()
    environment = make(server).environment
    activity.watch(environment, child)
    assert child.on_output is None
    activity.watch({**environment, "SIFLAB_ACTIVITY": '{"interval": 0, "cpu": 1, "gpu": 1}'}, child)
    child.on_output(LOG.format(200, "PUT", "api/contents/a").encode())


def test_without_settings_nothing_is_done(monkeypatch):
    monkeypatch.setattr(activity, "Activity", None)
    activity.watch({}, None)
    activity.watch({"SIFLAB_ACTIVITY": '{"interval": 1, "cpu": 1, "gpu": 1}'}, None)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("1970-01-01T00:01:00Z", 60),
        ("1970-01-01T00:01:00.9+00:00", 60),
        ("1970-01-01T00:01:00+08:00", 0),
        ("", 0),
        (None, 0),
        (7, 0),
    ],
)
def test_moments(text, moment):
    assert moment_of(text) == moment


# ---- CPU and GPU


def process(code, **environment):
    env = {**os.environ, **environment}
    child = subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    assert child.stdout.readline()
    return child


def burnt(cpu, wanted):
    """The first percentage that is `wanted`."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        found = cpu.percent()
        if wanted(found):
            return found
        time.sleep(0.05)
    raise AssertionError(found)


BURN = "print(1, flush=True)\nwhile True: pass"
REST = "print(1, flush=True)\nimport sys; sys.stdin.read()"


def test_the_cpu_time_of_the_jobs_processes_alone():
    mine = process(BURN, SLURM_JOB_ID="77777001")
    try:
        busy, other = CpuTime(os.getpid(), "77777001"), CpuTime(os.getpid(), "77777002")
        as_server = CpuTime(mine.pid, "77777001")
        assert burnt(busy, lambda percent: percent > 10)
        assert other.percent() == 0 and as_server.percent() == 0
    finally:
        mine.kill()
        mine.communicate()


def test_a_process_that_rests_uses_nothing():
    mine = process(REST, SLURM_JOB_ID="77777003")
    try:
        assert burnt(CpuTime(os.getpid(), "77777003"), lambda percent: percent < 5) < 5
    finally:
        mine.communicate(b"")


def test_cpu_time_is_use(server):
    mine = process(BURN, SLURM_JOB_ID="77777004")
    try:
        session = make(server, SLURM_JOB_ID="77777004")
        until = time.monotonic() + 20
        while not session.last and time.monotonic() < until:
            session.look()
        assert session.last
    finally:
        mine.kill()
        mine.communicate()


GPUS = [
    (["0", "0", "0"], 0.0),
    (["90", "0", "0"], 30.0),
    (["0\\n60", "0\\n30", "0\\n0"], 30.0),
    (["[N/A]"] * 3, 0.0),
    (["7\\n7", "7", "7"], 0.0),
    ([""] * 3, 0.0),
]


@pytest.mark.parametrize(("samples", "percent"), GPUS)
def test_the_use_of_gpus(tmp_path, samples, percent):
    program = tmp_path / "nvidia-smi"
    cases = "\n".join(f"  {number}) printf '{text}\\n';;" for number, text in enumerate(samples))
    program.write_text(
        f"#!/bin/sh\nn=$(cat {tmp_path}/n 2>/dev/null || echo 0)\necho $((n + 1)) > {tmp_path}/n\n"
        f'echo "$@" > {tmp_path}/argv\ncase $n in\n{cases}\nesac\n'
    )
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "0,1"}
    assert gpu_use(env, pause=0) == percent
    assert (tmp_path / "argv").read_text().split()[-1] == "--id=0,1"


@pytest.mark.parametrize("devices", ["", "NoDevFiles", "0"])
def test_no_gpu_to_look_at(tmp_path, devices):
    assert gpu_use({"PATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": devices}, pause=0) == 0.0


def test_gpu_use_is_use(server, tmp_path, monkeypatch):
    monkeypatch.setattr(activity, "gpu_use", lambda environment: 5.0)
    session = make(server)
    session.look()
    assert session.last
