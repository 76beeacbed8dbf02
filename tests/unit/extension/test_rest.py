"""Every route of openapi.yaml: what it answers, and how it fails."""

import asyncio
import json
import threading
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import pytest

from siflab.config import SiteError
from siflab.errors import Conflict, FieldError, Internal, Invalid, NotFound, SlurmRefused, SlurmUnreachable
from siflab.text import Text
from tests.unit.extension.fake_runs import FINDING, PARAMETER, PREVIEW, sample_run

REQUEST = {"path": "train.ipynb", "profile": "a100-1"}
SEEN = "2026-12-01T12:00:00+08:00"
WORDS = Text("words", "文字")


@dataclass
class Good:
    """A request that works: what is asked of siflab.runs, and what is answered."""

    path: str
    method: str
    route: str
    calls: str
    body: Any = None
    params: dict[str, str] = field(default_factory=dict)
    arguments: tuple[Any, ...] | None = ()
    status: int = 200
    has: dict[str, Any] = field(default_factory=dict)


GOOD = [
    Good("/site", "GET", "/site", "site_view", has={"user": "user1", "api_version": "1"}),
    Good("/session", "GET", "/session", "session_view", has={"job_id": "7"}),
    Good("/session/extension", "GET", "/session/extension", "extension_view", has={"allowed": True}),
    Good(
        "/session/extension",
        "POST",
        "/session/extension",
        "extend_session",
        {"seconds": 60, "ends_at": SEEN},
        arguments=(60, SEEN),
        has={"longest_seconds": 3600},
    ),
    Good("/inventory", "GET", "/inventory", "inventory_view", has={"partitions": []}),
    Good("/preflight", "POST", "/preflight", "preflight", REQUEST, arguments=None, has={"findings": [FINDING]}),
    Good(
        "/parameters",
        "GET",
        "/parameters",
        "parameters_view",
        params={"path": "a.ipynb"},
        arguments=None,
        has={"parameters": [PARAMETER]},
    ),
    Good("/preview", "POST", "/preview", "preview", REQUEST, arguments=None, has=PREVIEW),
    Good("/runs", "GET", "/runs", "list_runs", has={"runs": [sample_run("a.1")]}),
    Good("/runs", "POST", "/runs", "submit", REQUEST, arguments=None, status=201, has={"id": "new"}),
    Good("/runs/{id}", "GET", "/runs/a.1", "get_run", arguments=("a.1",), has={"id": "a.1"}),
    Good("/runs/{id}/points", "GET", "/runs/a.1/points", "list_points", arguments=("a.1",), has={"values": ["loss"]}),
    Good(
        "/runs/{id}/points/rerun",
        "POST",
        "/runs/a.1/points/rerun",
        "rerun_failed",
        arguments=("a.1",),
        has={"id": "a.1"},
    ),
    Good("/runs/{id}/rerun", "POST", "/runs/a.1/rerun", "rerun", arguments=("a.1", {}), status=201, has={}),
    Good(
        "/runs/{id}/rerun",
        "POST",
        "/runs/a.1/rerun",
        "rerun",
        {"changes": {"memory": "48G"}},
        arguments=("a.1", {"memory": "48G"}),
        status=201,
    ),
    Good("/runs/{id}/resume", "POST", "/runs/a.1/resume", "resume", arguments=("a.1",), has={"id": "a.1"}),
    Good("/runs/{id}/repair", "POST", "/runs/a.1/repair", "repair", arguments=("a.1",), has={"id": "a.1"}),
    Good(
        "/runs/{id}/provenance",
        "GET",
        "/runs/a.1/provenance",
        "get_provenance",
        arguments=("a.1",),
        has={"version": 1},
    ),
    Good("/runs/{id}/cancel", "POST", "/runs/a.1/cancel", "cancel", arguments=("a.1",), has={"state": "cancelled"}),
    Good("/runs/{id}/log", "GET", "/runs/a.1/log", "read_log", arguments=("a.1", None, 0), has={"text": "one\n"}),
    Good("/runs/{id}/metrics", "GET", "/runs/a.1/metrics", "get_metrics", arguments=("a.1", None, None)),
    Good(
        "/runs/{id}/metrics",
        "GET",
        "/runs/a.1/metrics",
        "get_metrics",
        params={"attempt": "2", "point": "0"},
        arguments=("a.1", 2, 0),
        has={"attempt": 2, "point": 0},
    ),
    Good(
        "/runs/{id}/log",
        "GET",
        "/runs/a.1/log",
        "read_log",
        params={"attempt": "2", "offset": "-3"},
        arguments=("a.1", 2, -3),
        has={"text": "wo\n", "offset": 5, "next_offset": 8},
    ),
]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: f"{case.method} {case.route}")
async def test_each_route_answers_as_the_contract_says(case, ask, runs):
    runs.runs["a.1"], runs.logs["a.1"] = sample_run("a.1"), "one\ntwo\n"

    status, answer = await ask(case.method, case.route, case.body, of=case.path, params=case.params)

    assert status == case.status
    assert {key: answer[key] for key in case.has} == case.has
    (call,) = [arguments for name, arguments in runs.calls if name == case.calls]
    if case.arguments is not None:
        assert call == case.arguments


FAILURES = [
    (Invalid([FieldError("gpus", "too-many-gpus", WORDS)]), 400, "invalid"),
    (SlurmRefused(WORDS), 400, "slurm-refused"),
    (NotFound(WORDS), 404, "not-found"),
    (Conflict(WORDS), 409, "conflict"),
    (SlurmUnreachable(WORDS), 503, "slurm-unreachable"),
    (Internal(WORDS), 500, "internal"),
    (RuntimeError("a fault of ours"), 500, "internal"),
]


@pytest.mark.parametrize(("failure", "status", "code"), FAILURES, ids=lambda value: type(value).__name__)
async def test_a_failure_keeps_its_status_code_and_fields(failure, status, code, ask, runs):
    runs.failure = failure

    answered, answer = await ask("POST", "/runs", REQUEST, of="/runs")

    assert (answered, answer["code"]) == (status, code)
    assert [error["field"] for error in answer["errors"]] == (["gpus"] if isinstance(failure, Invalid) else [])
    assert all(answer["message"].values())


def test_the_table_has_every_route(contract):
    elsewhere = {(path, method) for path, method in contract.operations() if path.startswith("/environments")}
    assert {(case.path, case.method.lower()) for case in GOOD} == contract.operations() - elsewhere - {
        ("/events", "get")
    }


BAD_BODIES = [
    ("", [("", "json-invalid")]),
    ("{", [("", "json-invalid")]),
    (b"\xff{}", [("", "json-invalid")]),
    ("[1]", [("", "model-type")]),
    ({"profile": "a"}, [("path", "missing")]),
    ({}, [("path", "missing"), ("profile", "missing")]),
    ({**REQUEST, "gpu": 2}, [("gpu", "extra-forbidden")]),
    ({**REQUEST, "gpus": "many", "time": 5}, [("gpus", "int-parsing"), ("time", "string-type")]),
    ({**REQUEST, "cpus": 1.5}, [("cpus", "int-from-float")]),
    ({**REQUEST, "mode": "other"}, [("mode", "literal-error")]),
    ({**REQUEST, "sweep": {"grid": {}, "csv": ""}, "mode": "sweep"}, [("sweep", "value-error")]),
    ({**REQUEST, "name": "n" * 81}, [("name", "string-too-long")]),
    ({**REQUEST, "submit_key": "short"}, [("submit_key", "string-pattern-mismatch")]),
    ({**REQUEST, "path": " "}, [("path", "path-empty")]),
    ({**REQUEST, "path": "RTC:"}, [("path", "path-empty")]),
    ({**REQUEST, "path": "a\0b.ipynb"}, [("path", "path-invalid")]),
]


@pytest.mark.parametrize("route", ["/runs", "/preview", "/preflight"])
async def test_a_bad_body_is_answered_with_the_fields_that_are_wrong(route, ask, runs):
    for body, wrong in BAD_BODIES:
        status, answer = await ask("POST", route, body, of=route)

        assert (status, answer["code"]) == (400, "invalid"), body
        assert [(error["field"], error["code"]) for error in answer["errors"]] == wrong, body
    assert runs.calls == []


@pytest.mark.parametrize("params", [{"attempt": "x"}, {"attempt": "0"}, {"offset": "1.5"}])
async def test_a_bad_query_names_its_parameter(params, ask, runs):
    status, answer = await ask("GET", "/runs/a.1/log", of="/runs/{id}/log", params=params)

    assert (status, [error["field"] for error in answer["errors"]]) == (400, list(params))


@pytest.mark.parametrize("route", ["/no-such", "/runs/.hidden", "/runs/a b", "/runs/a/log/b", f"/runs/{'a' * 122}"])
async def test_an_unknown_address_is_a_failure_and_no_page(route, ask, runs):
    status, answer = await ask("GET", route)

    assert (status, answer["code"]) == (404, "not-found")


async def test_a_method_that_a_route_lacks(ask):
    status, answer = await ask("POST", "/site", {})

    assert (status, answer["code"]) == (405, "method-not-allowed")


@pytest.mark.parametrize("case", GOOD, ids=lambda case: f"{case.method} {case.route}")
async def test_without_a_token_nothing_is_asked(case, ask, runs):
    status, answer = await ask(case.method, case.route, case.body, headers={"Authorization": "token wrong"})

    assert (status, answer["code"], runs.calls) == (403, "forbidden", [])


async def test_a_cookie_alone_may_not_submit(ask, jp_fetch, jp_serverapp, runs):
    """XSRF protection is Jupyter Server's: a page of another site has the cookie sent, but does not know its token."""
    token = jp_serverapp.identity_provider.token
    login = await jp_fetch("siflab", "site", params={"token": token}, headers={"Authorization": ""})
    cookie = "; ".join(line.partition(";")[0] for line in login.headers.get_list("Set-Cookie"))
    headers = {"Authorization": "", "Cookie": cookie}

    assert (await ask("GET", "/session", of="/session", headers=headers))[0] == 200
    assert (await ask("POST", "/runs", REQUEST, of="/runs", headers=headers))[0] == 403
    assert runs.count("submit") == 0


async def test_an_authorizer_is_asked_about_siflab(ask, jp_serverapp, monkeypatch):
    asked = []

    def is_authorized(_handler, _user, action, resource):
        asked.append((action, resource))
        return action == "read"

    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", is_authorized)

    assert (await ask("GET", "/runs", of="/runs"))[0] == 200
    assert (await ask("POST", "/runs", REQUEST, of="/runs"))[0] == 403
    assert asked == [("read", "siflab"), ("write", "siflab")]


async def test_a_request_that_waits_holds_no_other_up(ask, jp_fetch, runs):
    runs.gate = threading.Event()
    slow = asyncio.ensure_future(ask("GET", "/inventory", of="/inventory"))

    assert (await jp_fetch("api", "status")).code == HTTPStatus.OK
    assert not slow.done()
    runs.gate.set()
    assert (await slow)[0] == 200


async def test_the_viewer_is_made_once_but_a_failure_is_not_kept(ask, runs, monkeypatch):
    made = []

    def here():
        made.append(None)
        if len(made) == 1:
            raise SiteError("/etc/siflab/site.yaml", "profiles.a.gpu", WORDS)
        return runs.Viewer()

    monkeypatch.setattr(runs.Viewer, "here", here)

    status, failure = await ask("GET", "/site", of="/site")
    assert (status, failure["message"]["zh"]) == (500, "/etc/siflab/site.yaml: profiles.a.gpu: 文字")
    assert [(await ask("GET", "/site", of="/site"))[0] for _ in range(2)] == [200, 200]
    assert len(made) == 2


async def test_only_what_a_person_does_counts_as_activity(ask, jp_fetch, jp_serverapp, runs):
    """Else a forgotten page that asks for news would keep an idle session, and its GPU, from being culled."""
    settings = jp_serverapp.web_app.settings
    settings["api_last_activity"] = None

    await ask("GET", "/runs", of="/runs")
    assert settings["api_last_activity"] is None
    await ask("POST", "/runs", REQUEST, of="/runs")
    assert settings["api_last_activity"] is not None


async def test_the_path_is_the_servers_and_the_root_is_told(ask, jp_root_dir, runs):
    await ask("POST", "/preview", {**REQUEST, "path": 'RTC:dir/训练 "a" $(id).ipynb'}, of="/preview")
    (_, (request,)) = runs.calls[0]

    assert request.path == str(jp_root_dir / 'dir/训练 "a" $(id).ipynb')
    assert (await ask("GET", "/site", of="/site"))[1]["server_root"] == str(jp_root_dir)


async def test_an_answer_is_json_even_of_a_name_that_is_no_unicode(jp_fetch, runs):
    runs.runs["a"] = sample_run("a", source="/workspace/\udcff.ipynb")

    response = await jp_fetch("siflab", "runs")

    assert json.loads(response.body)["runs"][0]["source"] == "/workspace/\udcff.ipynb"
