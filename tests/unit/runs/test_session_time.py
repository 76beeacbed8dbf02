"""The end of a session as the Hub knows it, and more time for it: asked with the session's own token."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from siflab.errors import Conflict, Invalid, NotFound, SlurmUnreachable
from siflab.runs.hub import HubUnreachable, ask_hub
from siflab.runs.session_time import extend_session, extension_view, session_time

POSSIBLE = {"allowed": True, "ends_at": "2026-12-01T13:00:00+08:00", "longest_seconds": 60}
TIME = {"job_id": "7", "ends_at": "2026-12-01T12:30:00+08:00", "can_extend": True}


class FakeHub:
    """Answers a path by (status, body); `asked` has (method, path, token, body)."""

    def __init__(self):
        self.answers, self.asked = {}, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                token = self.headers["Authorization"]
                outer.asked.append((self.command, self.path, token, json.loads(body) if body else None))
                status, answer = outer.answers[self.path]
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/hub/login")
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hub/api"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def hub(monkeypatch):
    fake = FakeHub()
    monkeypatch.setenv("JUPYTERHUB_API_URL", fake.url)
    monkeypatch.setenv("JUPYTERHUB_API_TOKEN", "t0ken")
    monkeypatch.setenv("JUPYTERHUB_SERVER_NAME", "")
    fake.answers = {
        "/hub/api/siflab/sessions/time": (200, TIME),
        "/hub/api/siflab/sessions/extension": (200, POSSIBLE),
    }
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


@pytest.fixture
def viewer():
    return SimpleNamespace(in_session=SimpleNamespace(ends_at="2026-12-01T12:00:00+08:00"), memory={})


def test_the_end_is_the_hubs_and_asked_for_once(hub, viewer):
    for _ in range(3):
        assert session_time(viewer).ends_at == TIME["ends_at"]
    assert session_time(viewer).extension == POSSIBLE
    assert [path for _, path, _, _ in hub.asked] == [
        "/hub/api/siflab/sessions/time",
        "/hub/api/siflab/sessions/extension",
    ]
    assert {token for _, _, token, _ in hub.asked} == {"token t0ken"}


def test_a_site_that_extends_nothing_is_asked_no_more(hub, viewer):
    hub.answers["/hub/api/siflab/sessions/time"] = (200, {**TIME, "can_extend": False})
    assert session_time(viewer).extension is None
    assert len(hub.asked) == 1


@pytest.mark.parametrize(
    "answer", [(500, b"<html>"), (200, b"[]"), (200, b"not JSON"), (302, b""), (404, {"message": "x"})]
)
def test_without_the_hub_it_is_what_the_job_knew(hub, viewer, answer):
    hub.answers["/hub/api/siflab/sessions/time"] = answer
    seen = session_time(viewer)
    assert (seen.ends_at, seen.extension) == ("2026-12-01T12:00:00+08:00", None)


def test_more_time(hub, viewer):
    session_time(viewer)
    assert extend_session(viewer, 60, TIME["ends_at"]) == POSSIBLE
    assert hub.asked[-1] == (
        "POST", "/hub/api/siflab/sessions/extension", "token t0ken", {"seconds": 60, "ends_at": TIME["ends_at"]},
    )  # fmt: skip
    assert session_time(viewer).ends_at == POSSIBLE["ends_at"], "the new end is what is shown from now on"


def test_a_named_server(hub, monkeypatch):
    monkeypatch.setenv("JUPYTERHUB_SERVER_NAME", "a b")
    hub.answers["/hub/api/siflab/sessions/a%20b/time"] = (200, TIME)
    assert ask_hub("time") == TIME


@pytest.mark.parametrize(
    ("status", "code", "errors", "raised"),
    [
        (404, "not-found", [], NotFound),
        (409, "conflict", [], Conflict),
        (503, "slurm-unreachable", [], SlurmUnreachable),
        (
            400,
            "invalid",
            [{"field": "seconds", "code": "too-long", "message": {"en": "too long", "zh": "过长"}}],
            Invalid,
        ),
        (500, "something", None, HubUnreachable),
    ],
)
def test_what_the_hub_says_no_to(hub, viewer, status, code, errors, raised):
    body = {"code": code, "message": {"en": "words", "zh": "文字"}, "errors": errors}
    hub.answers["/hub/api/siflab/sessions/extension"] = (status, body)
    with pytest.raises(raised) as caught:
        extend_session(viewer, 60)
    expected = errors[0]["message"]["zh"] if errors else "文字"
    assert expected in caught.value.message.zh or raised is HubUnreachable


def test_outside_of_a_session(monkeypatch):
    nowhere = SimpleNamespace(in_session=None, memory={})
    for call in (lambda: extension_view(nowhere), lambda: extend_session(nowhere, 60)):
        with pytest.raises(NotFound):
            call()
    monkeypatch.delenv("JUPYTERHUB_API_URL", raising=False)
    with pytest.raises(NotFound):
        ask_hub("time")
