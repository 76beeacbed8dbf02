"""The exchange with the Hub, as the job sees it."""

import json

import pytest

from siflab.node.hub import Away, Hub, Refused, plain
from siflab.node.words import Words

ANSWER = {"argv": ["server"], "env": {}}


def client(hub, **settings):
    config = {"claim_url": hub.url, "ca": None, "user": "user1", "server": "gpu", "code": "the-code-of-this-start"}
    return Hub(config, **{"patience": 20, "pause": 0.01, "longest_pause": 0.02, **settings})


def test_a_claim_says_who_where_and_with_which_code(hub):
    hub.answer = ANSWER
    answer = client(hub.listen()).claim(40001, "77", "gpu01")
    assert answer["argv"] == ["server"]
    [body] = hub.bodies("claim")
    claimant = body.pop("claimant")
    assert body == {
        "user": "user1", "server": "gpu", "code": "the-code-of-this-start", "port": 40001, "job_id": "77", "node": "gpu01",
    }  # fmt: skip
    assert len(claimant) >= 16


@pytest.mark.parametrize("trouble", [["drop"], [409, 409], [500, 503], ["drop", 409, 502, "drop"], [404]])
def test_a_claim_is_repeated_the_same_until_it_is_answered(hub, trouble, capfd):
    hub.answer, hub.plans["claim"] = ANSWER, list(trouble)
    client(hub.listen()).claim(40001, "77", "gpu01")
    bodies = hub.bodies("claim")
    assert len(bodies) == len(trouble) + 1
    assert all(body == bodies[0] for body in bodies)
    assert "the Hub answers again" in capfd.readouterr().err


def test_trouble_is_logged_when_it_changes_not_at_each_try(hub, capfd):
    hub.answer, hub.plans["claim"] = ANSWER, [503] * 6 + [409] * 6
    client(hub.listen()).claim(40001, "77", "gpu01")
    log = capfd.readouterr().err
    assert log.count("the Hub says 503") == 1
    assert log.count("the Hub says 409") == 1


@pytest.mark.parametrize("status", [400, 401, 403])
def test_a_refusal_is_final_and_tells_why_in_both_languages(hub, status):
    hub.plans["claim"] = [status]
    with pytest.raises(Refused) as refused:
        client(hub.listen()).claim(40001, "77", "gpu01")
    assert refused.value.args[0] == (f"no, because {status}", f"拒绝 {status}")
    assert len(hub.seen) == 1


def test_an_answer_without_a_command_is_refused(hub):
    hub.answer = {"env": {}}
    with pytest.raises(Refused):
        client(hub.listen()).claim(40001, "77", "gpu01")


def test_a_hub_that_stays_away_is_given_up_on(hub):
    with pytest.raises(Away):
        client(hub, patience=0.05).claim(40001, "77", "gpu01")


def test_a_redirect_is_not_followed(hub):
    hub.plans["claim"] = [302] * 50
    with pytest.raises(Away):
        client(hub.listen(), patience=0.05).claim(40001, "77", "gpu01")
    assert {verb for verb, _ in hub.seen} == {"claim"}


def test_proxy_settings_of_the_node_are_not_used(hub, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    hub.answer = ANSWER
    assert client(hub.listen()).claim(40001, "77", "gpu01")["argv"]


def test_ready_gives_up_when_the_server_is_gone(hub):
    hub.plans["ready"] = [503] * 1000
    alive = iter([True, True, True])
    assert client(hub.listen()).ready(40001, lambda: next(alive, False)) is False
    assert client(hub).ready(40001, lambda: False) is False


def test_failed_carries_the_end_of_the_log_within_the_limits_of_the_hub(hub):
    noise = b"\x1b[31m" + "错".encode() * 4000 + b"\x00\x01\xff" * 4000 + b"last line\n"
    client(hub.listen()).failed(7, Words("it broke", "坏了"), noise)
    [body] = hub.bodies("failed")
    assert body["exit_code"] == 7
    assert body["message"] == {"en": "it broke", "zh": "坏了"}
    assert body["log_tail"].endswith("last line\n")
    assert len(json.dumps(body, ensure_ascii=False).encode()) < 16384


def test_failed_raises_nothing(hub, capfd):
    client(hub, patience=0.05).failed(7, Words("it broke", "坏了"), b"")
    assert "could not be told" in capfd.readouterr().err


def test_control_characters_are_not_in_a_log_tail():
    assert plain(b"a\x1b[0mb\r\nc\td\x07") == "a[0mb\nc\td"


def test_the_hub_of_siflab_takes_what_is_sent(hub):
    """The other side of the protocol, in siflab_spawner: the same fields, types and limits."""
    claim_body = pytest.importorskip("siflab_spawner.claims.claim_body")
    hub.answer = ANSWER
    talk = client(hub.listen())
    talk.claim(40001, "77", "gpu01")
    talk.ready(40001, lambda: True)
    talk.failed(-9, Words("it broke", "坏了"), ("错误" * 4000).encode())
    for verb, body in hub.seen:
        claim_body.read_body(verb, json.dumps(body, ensure_ascii=False).encode())
    assert [verb for verb, _ in hub.seen] == ["claim", "ready", "failed"]
