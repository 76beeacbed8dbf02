"""What is kept in the Hub's database survives, and holds no secret."""

import json

import pytest

from siflab_spawner.state import SessionState, sha256


def submitted():
    state, code = SessionState.intend({"profile": "one"}, "/home/user1/.siflab/sessions/7.log")
    state.job_id = "7"
    return state, code


def test_it_survives_the_database():
    state, _ = submitted()
    state.claimant_hash, state.claimed_at, state.host, state.port = sha256("c"), 5.0, "10.0.0.1", 4000
    assert SessionState.from_dict(json.loads(json.dumps(state.as_dict()))) == state


def test_the_code_is_not_kept():
    state, code = submitted()
    assert code not in json.dumps(state.as_dict())
    assert state.claim_hash == sha256(code) and len(code) >= 40
    assert submitted()[1] != code


PHASES = [
    ({}, "none"),
    ({"submit_id": "a"}, "intent"),
    ({"submit_id": "a", "job_id": "1"}, "submitted"),
    ({"submit_id": "a", "job_id": "1", "claimant_hash": "h", "claimed_at": 1.0}, "claimed"),
    ({"submit_id": "a", "job_id": "1", "claimant_hash": "h"}, "submitted"),
    ({"submit_id": "a", "job_id": "1", "claimed_at": 1.0, "ready_at": 2.0}, "ready"),
]


@pytest.mark.parametrize(("data", "phase"), PHASES)
def test_phases(data, phase):
    assert SessionState.from_dict(data).phase == phase


OTHERS = [
    (None, SessionState()),
    ([], SessionState()),
    ({"job_id": 12}, SessionState()),
    ({"job_id": "12", "job_status": "RUNNING node"}, SessionState(job_id="12")),
    ({"port": True, "host": None}, SessionState()),
    ({"ready_at": 3, "facts": []}, SessionState(ready_at=3)),
]


@pytest.mark.parametrize(("data", "state"), OTHERS)
def test_what_another_version_kept_is_read_as_far_as_it_fits(data, state):
    assert SessionState.from_dict(data) == state


def test_a_stopped_session_keeps_nothing():
    assert SessionState().as_dict() == {}


def test_unclaimed_keeps_job_and_claimant():
    state, _ = submitted()
    state.claimant_hash, state.claimed_at, state.host, state.port, state.ready_at = "h", 1.0, "n", 4000, 2.0
    again = state.unclaimed()
    assert (again.phase, again.job_id, again.claimant_hash, again.port) == ("submitted", "7", "h", 0)
