"""Bodies of the claim routes: what is taken, and what hostile ones get."""

import json

import pytest

from siflab_spawner.claims.claim_body import read_body

CLAIM = {
    "user": "user1", "server": "", "code": "c" * 43, "claimant": "k" * 32, "port": 40000, "job_id": "12", "node": "gpu01",
}  # fmt: skip
READY = {name: CLAIM[name] for name in ("user", "server", "code", "claimant", "port")}
FAILED = {
    **{n: CLAIM[n] for n in ("user", "server", "code", "claimant")},
    "exit_code": 41,
    "message": "no",
    "log_tail": "",
}


def encoded(body):
    return json.dumps(body).encode()


@pytest.mark.parametrize(("kind", "body"), [("claim", CLAIM), ("ready", READY), ("failed", FAILED)])
def test_what_the_shim_sends_is_taken(kind, body):
    assert read_body(kind, encoded(body)).model_dump() == body


HOSTILE = [
    ("claim", b"", "not JSON"),
    ("claim", b"\xff\xfe", "not JSON"),
    ("claim", b"[" * 3000, "not JSON"),
    ("claim", b"null", "body"),
    ("claim", b"[]", "body"),
    ("claim", b'"x"', "body"),
    ("claim", encoded(CLAIM) + b" " * 4096, "4096 bytes"),
    ("claim", encoded({**CLAIM, "job_status": "RUNNING evil"}), "job_status"),
    ("claim", encoded({**CLAIM, "ip": "10.0.0.66"}), "ip"),
    ("claim", encoded({**CLAIM, "\r[I] User logged in: evil": 1}), "a key that there is not"),
    ("claim", encoded({**CLAIM, "\x1b[2Jevil": 1}), "a key that there is not"),
    ("claim", encoded({**CLAIM, "user": "a\x00b"}), "user"),
    ("claim", encoded({**CLAIM, "server": "a\nb"}), "server"),
    ("claim", encoded({**CLAIM, "port": "40000"}), "port"),
    ("claim", encoded({**CLAIM, "port": 40000.0}), "port"),
    ("claim", encoded({**CLAIM, "port": True}), "port"),
    ("claim", encoded({**CLAIM, "port": 80}), "port"),
    ("claim", encoded({**CLAIM, "port": 65536}), "port"),
    ("claim", encoded({**CLAIM, "user": ["user1"]}), "user"),
    ("claim", encoded({**CLAIM, "user": ""}), "user"),
    ("claim", encoded({**CLAIM, "user": "a" * 300}), "user"),
    ("claim", encoded({**CLAIM, "code": None}), "code"),
    ("claim", encoded({**CLAIM, "code": "short"}), "code"),
    ("claim", encoded({**CLAIM, "code": "c" * 20 + "\n"}), "code"),
    ("claim", encoded({**CLAIM, "job_id": 12}), "job_id"),
    ("claim", encoded({**CLAIM, "job_id": "12_3"}), "job_id"),
    ("claim", encoded({n: v for n, v in CLAIM.items() if n != "claimant"}), "claimant"),
    ("ready", encoded(CLAIM), "job_id"),
    ("failed", encoded({**FAILED, "log_tail": "x" * 9000}), "log_tail"),
    ("failed", encoded({**FAILED, "exit_code": "1"}), "exit_code"),
    ("failed", encoded({**FAILED, "message": {"en": "x"}}), "message"),
    ("failed", b" " * 70000, "65536 bytes"),
]


@pytest.mark.parametrize(("kind", "raw", "words"), HOSTILE)
def test_anything_else_is_refused_naming_the_field_and_repeating_nothing(kind, raw, words):
    with pytest.raises(ValueError, match=words) as caught:
        read_body(kind, raw)
    assert "evil" not in str(caught.value) and "c" * 20 not in str(caught.value)


def test_a_long_log_in_another_script_fits():
    body = {**FAILED, "log_tail": "错" * 8000}
    assert read_body("failed", encoded(body)).log_tail == "错" * 8000


def test_a_message_in_one_language_is_told_in_both():
    body = read_body("failed", encoded({**FAILED, "exit_code": 1, "message": "JupyterLab ended"}))
    assert "exit code 1" in body.text().en and "退出码 1" in body.text().zh and body.words == "JupyterLab ended"
    both = read_body("failed", encoded({**FAILED, "message": {"en": "a", "zh": "b"}}))
    assert (both.text().en, both.text().zh) == ("a", "b")
