"""The event stream, from the page's side of a real WebSocket."""

import asyncio
import json
import threading

import pytest
from tornado.httpclient import HTTPClientError

from siflab.errors import Internal
from siflab.text import Text
from tests.unit.extension.fake_runs import sample_run


async def test_a_page_is_told_every_run_then_slurm_then_changes(open_page, runs, service):
    runs.runs = {"a": sample_run("a"), "b": sample_run("b", "completed")}
    page = await open_page()
    await page.follow(runs=True)

    assert await page.list() == [sample_run("a"), sample_run("b", "completed")]

    runs.runs = {"a": sample_run("a", "completed")}
    service.watcher.nudge()
    told = [await page.event(), await page.event()]
    assert {(event["type"], event["id"]) for event in told} == {("removed", "b"), ("run", "a")}
    assert [event["run"]["state"] for event in told if event["type"] == "run"] == ["completed"]


async def test_submitting_and_cancelling_are_seen_at_once_by_every_page(open_page, ask, runs):
    pages = [await open_page(), await open_page()]
    for page in pages:
        await page.follow(runs=True)
        assert await page.list() == []

    await ask("POST", "/runs", {"path": "a.ipynb", "profile": "p"}, of="/runs")
    assert [(await page.event())["run"]["state"] for page in pages] == ["pending", "pending"]
    await ask("POST", "/runs/new/cancel", of="/runs/{id}/cancel")
    assert [(await page.event())["run"]["state"] for page in pages] == ["cancelled", "cancelled"]


async def test_pages_share_one_look(open_page, runs, service):
    runs.runs = {"a": sample_run("a")}
    first, second = await open_page(), await open_page()
    await first.follow(runs=True)
    assert len(await first.list()) == 1
    await second.follow(runs=True)
    assert len(await second.list()) == 1

    assert runs.count("list_runs") == 1


async def test_nobody_looks_when_nobody_follows(open_page, runs, service):
    page = await open_page()
    assert not service.watcher.looking
    await page.follow(runs=True)
    await page.list()
    assert service.watcher.looking

    await page.follow(runs=False, logs=[{"id": "none"}])
    assert (await page.event())["type"] == "error"
    assert not service.watcher.looking


async def test_a_closed_page_is_forgotten(open_page, service):
    page, other = await open_page(), await open_page()
    await page.follow(runs=True)
    await page.list()

    page.socket.close()
    await asyncio.wait_for(_until(lambda: len(service.pages) == 1), 5)

    assert not service.watcher.looking
    await other.follow(runs=True)
    assert await other.list() == []


async def test_slurm_going_away_and_coming_back_is_told(open_page, runs, service):
    page = await open_page()
    await page.follow(runs=True)
    assert await page.event() == {"type": "slurm", "slurm": {"reachable": True, "message": None}}

    runs.reachable = False
    service.watcher.nudge()
    assert (await page.event())["slurm"]["reachable"] is False
    runs.reachable = True
    service.watcher.nudge()
    assert (await page.event())["slurm"]["reachable"] is True


async def test_a_list_that_cannot_be_had_is_an_error_and_then_over(open_page, runs, service):
    runs.failure = Internal(Text("site.yaml is wrong", "site.yaml 有误"))
    page, late = await open_page(), await open_page()
    await page.follow(runs=True)
    error = {"type": "error", "message": {"en": "site.yaml is wrong", "zh": "site.yaml 有误"}}
    assert await page.event() == error
    await late.follow(runs=True)
    assert await late.event() == error

    runs.failure = None
    service.watcher.nudge()
    assert [(await each.event())["type"] for each in (page, late)] == ["slurm", "slurm"]


async def test_a_log_is_followed_to_its_end(open_page, runs):
    runs.runs["a"], runs.logs["a"] = sample_run("a"), "0123456789"
    page = await open_page()
    await page.follow(logs=[{"id": "a", "offset": 2}])

    pieces = [await page.event(), await page.event()]
    assert [(event["id"], event["log"]["text"]) for event in pieces] == [("a", "2345"), ("a", "6789")]

    runs.logs["a"] += "last"
    assert (await page.event())["log"]["text"] == "last"
    runs.runs["a"] = sample_run("a", "completed")
    end = (await page.event())["log"]
    assert (end["text"], end["complete"], end["next_offset"]) == ("", True, 14)


async def test_a_log_begins_anew_where_the_page_says(open_page, runs):
    runs.runs["a"], runs.logs["a"] = sample_run("a", "completed"), "0123456789"
    page = await open_page()
    await page.follow(logs=[{"id": "a", "offset": -4}])
    assert (await page.event())["log"]["text"] == "6789"
    await page.follow(logs=[{"id": "a", "offset": 0, "attempt": 1}])
    assert (await page.event())["log"]["text"] == "0123"
    assert ("read_log", ("a", 1, 0)) in runs.calls


async def test_a_log_of_no_run_is_an_error_that_names_it(open_page):
    page = await open_page()
    await page.follow(logs=[{"id": "gone"}])
    event = await page.event()

    assert (event["type"], event["id"], event["message"]["en"]) == ("error", "gone", "There is no run gone.")


BAD_MESSAGES = [
    "",
    "{",
    b"\xff\xfe",
    "[" * 100_000,
    "[]",
    '{"follow": 1}',
    '{"follow": {}, "other": 1}',
    '{"follow": {"points": true}}',
    '{"follow": {"runs": 1}}',
    '{"follow": {"logs": {}}}',
    '{"follow": {"logs": ["a"]}}',
    '{"follow": {"logs": [{"offset": 0}]}}',
    '{"follow": {"logs": [{"id": "../a"}]}}',
    '{"follow": {"logs": [{"id": "a", "offset": "0"}]}}',
    '{"follow": {"logs": [{"id": "a", "offset": true}]}}',
    '{"follow": {"logs": [{"id": "a", "attempt": 0}]}}',
    json.dumps({"follow": {"logs": [{"id": f"r{number}"} for number in range(9)]}}),
    "x" * 70_000,
]


async def test_a_bad_message_gets_an_error_and_changes_nothing(open_page, runs, service):
    page = await open_page()
    await page.follow(runs=True)
    await page.list()
    for message in BAD_MESSAGES:
        await page.say(message)
        event = await page.event()
        assert event["type"] == "error", message[:80]
        assert all(event["message"].values())

    runs.runs["a"] = sample_run("a")
    service.watcher.nudge()
    assert (await page.event())["id"] == "a"


@pytest.mark.parametrize("headers", [{"Authorization": "token wrong"}, {"Authorization": ""}])
async def test_who_is_not_logged_in_is_refused_before_the_upgrade(headers, jp_ws_fetch, service):
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("siflab", "events", headers=headers)

    assert (refused.value.code, len(service.pages)) == (403, 0)


@pytest.mark.parametrize(("token", "status"), [("wrong", 403), (None, 426)])
async def test_what_is_no_websocket_gets_a_failure(token, status, ask):
    headers = {"Authorization": f"token {token}"} if token else {}

    assert (await ask("GET", "/events", of="/events", headers=headers))[0] == status


async def test_a_page_of_another_origin_is_refused(jp_ws_fetch, jp_serverapp, jp_fetch):
    token = jp_serverapp.identity_provider.token
    login = await jp_fetch("siflab", "site", params={"token": token}, headers={"Authorization": ""})
    cookie = "; ".join(line.partition(";")[0] for line in login.headers.get_list("Set-Cookie"))
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch(
            "siflab", "events", headers={"Authorization": "", "Cookie": cookie, "Origin": "http://evil.example"}
        )

    assert refused.value.code == 403


async def test_an_authorizer_may_refuse(jp_ws_fetch, jp_serverapp, monkeypatch):
    monkeypatch.setattr(jp_serverapp.authorizer, "is_authorized", lambda *_: False)
    with pytest.raises(HTTPClientError) as refused:
        await jp_ws_fetch("siflab", "events")

    assert refused.value.code == 403


async def test_a_stopping_server_closes_its_pages(open_page, service, runs):
    runs.gate = threading.Event()
    page = await open_page()
    await page.follow(runs=True)
    await service.close()
    runs.gate.set()

    assert await page.socket.read_message() is None
    assert page.socket.close_code == 1001
    assert not service.watcher.looking


async def _until(holds) -> None:
    while not holds():
        await asyncio.sleep(0)


async def test_metrics_go_on_from_a_position_after_the_connection_was_lost(open_page, runs):
    runs.runs = {"a": sample_run("a")}
    page = await open_page()
    await page.follow(metrics=[{"id": "a"}])
    first = (await page.event())["metrics"]
    assert (first["whole"], first["position"]) == (True, "1:1")
    assert (await page.event())["metrics"]["position"] == "1:2"
    page.socket.close()

    runs.runs = {"a": sample_run("a", "completed")}
    again = await open_page()
    await again.follow(metrics=[{"id": "a", "position": "1:2"}])
    piece = (await again.event())["metrics"]
    assert (piece["whole"], piece["position"], piece["complete"]) == (False, "1:3", True)


@pytest.mark.parametrize(
    ("wish", "field"),
    [({"id": "a", "position": 5}, "position"), ({"id": "a", "position": "x" * 65}, "position"), ({"id": "a", "point": -1}, "point"),
     ({"id": "a", "point": True}, "point"), ({"id": "a", "offset": 1}, ""), ({"id": "../a"}, "id"), ({"id": "a", "attempt": 0}, "attempt")],
)  # fmt: skip
async def test_a_wish_for_metrics_that_is_none(open_page, wish, field):
    page = await open_page()
    await page.follow(metrics=[wish])
    event = await page.event()
    assert (event["type"], "id" in event) == ("error", False)
