"""A session gets more time on the real cluster: by its user, from inside itself, never beyond a cap, never another's."""

import json
from datetime import datetime

import pytest
import requests

from tests.cluster.hub import USERS, running_hub, site, slurm, why_not
from tests.cluster.kernel import Kernel

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[0], USERS[1]
MINUTE = 60
FROM_INSIDE = """
import json, os, urllib.error, urllib.request
def ask(what, body=None):
    url = os.environ["JUPYTERHUB_API_URL"] + "/siflab/sessions/" + what
    headers = {"Authorization": "token " + os.environ["JUPYTERHUB_API_TOKEN"], "Content-Type": "application/json"}
    try:
        answer = urllib.request.urlopen(urllib.request.Request(url, body and json.dumps(body).encode(), headers))
    except urllib.error.HTTPError as error:
        answer = error
    return answer.code, json.loads(answer.read())
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    data = site(session={"extension": {"step": "0:05:00", "max_total": "0:20:00"}})
    data["profiles"]["cpu"]["time"] = "0:05:00"
    yield from running_hub(tmp_path_factory.mktemp("hub"), data)


@pytest.fixture(scope="module")
def job(hub):
    """A session of ALICE; its job's id."""
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    (found,) = hub.jobs(ALICE)
    return found["id"]


def ask(hub, who, seconds=None, owner=ALICE, **more):
    """The answer to `who`, with a token of theirs, about the session of `owner`."""
    hub.add_user(who)
    token = hub.api("POST", f"users/{who}/tokens", json={"note": "test"}).json()["token"]
    url = f"{hub.url}/hub/api/siflab/sessions/extension"
    common = {"params": {"user": owner}, "headers": {"Authorization": f"token {token}"}, "timeout": 60}
    if seconds is None:
        return requests.get(url, **common)
    return requests.post(url, json={"seconds": seconds, **more}, **common)


def limit(job):
    return slurm("squeue", "--noheader", "--jobs", job, "--format=%l").strip()


def test_a_session_of_five_minutes_goes_on_for_ten(hub, job):
    before = ask(hub, ALICE).json()
    assert before["allowed"] is True and before["longest_seconds"] == 5 * MINUTE and limit(job) == "5:00"
    answers = [ask(hub, ALICE, 5 * MINUTE, ends_at=before["ends_at"]) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200], answers[0].text
    assert limit(job) == "10:00", "a request that is sent twice is carried out once"
    ends = [datetime.fromisoformat(one["ends_at"]) for one in (before, answers[0].json(), answers[1].json())]
    assert (ends[1] - ends[0]).total_seconds() == 5 * MINUTE and ends[1] == ends[2]


def test_a_session_asks_for_itself_with_its_own_token(hub, job):
    kernel = Kernel(hub, ALICE)
    text = kernel.run(FROM_INSIDE + "print(json.dumps([ask('time'), ask('extension', {'seconds': 60}), ask('time')]))")
    kernel.close()
    (before, first), (extended, answer), (after, then) = json.loads(text)
    assert (before, extended, after) == (200, 200, 200), text
    assert limit(job) == "11:00" and first["job_id"] == job and first["can_extend"] is True
    assert then["ends_at"] == answer["ends_at"] > first["ends_at"]


def test_nobody_else_may(hub, job):
    hub.spawn(BOB, profile="cpu")
    hub.wait_ready(BOB)
    try:
        assert ask(hub, BOB, MINUTE).status_code == 403 and ask(hub, BOB).status_code == 403
        assert ask(hub, BOB, MINUTE, owner="no-such-user").status_code == 403
        kernel = Kernel(hub, BOB)
        code, _ = json.loads(kernel.run(FROM_INSIDE + f"print(json.dumps(ask('time?user={ALICE}')))"))
        kernel.close()
        assert code == 403, "the token of another session"
    finally:
        hub.stop_server(BOB)
        hub.wait_stopped(BOB)
    url = f"{hub.url}/hub/api/siflab/sessions/extension"
    assert requests.post(url, json={"seconds": 60}, timeout=60).status_code == 403
    assert limit(job) == "11:00"


def test_an_admin_may(hub, job):
    answer = hub.api("POST", "siflab/sessions/extension", params={"user": ALICE}, json={"seconds": 60})
    assert answer.status_code == 200 and limit(job) == "12:00"


def test_each_cap_is_named(hub, job):
    refused = ask(hub, ALICE, 30 * MINUTE)
    assert refused.status_code == 400 and "0:05:00 at a time" in refused.json()["message"]["en"]
    (node,) = [found["node"] for found in hub.jobs(ALICE)]
    argv = ["ReservationName=siflab-test", "StartTime=now+13minutes", "Duration=5", f"Nodes={node}", "Users=root"]
    slurm("scontrol", "create", "reservation", *argv, "Flags=maint,ignore_jobs")
    try:
        refused = ask(hub, ALICE, 5 * MINUTE)
        assert refused.status_code in (400, 409)
        assert f"siflab-test begins on node {node}" in refused.json()["message"]["en"]
    finally:
        slurm("scontrol", "delete", "ReservationName=siflab-test")
    assert limit(job) == "12:00"
    for expected in ("17:00", "20:00"):
        longest = ask(hub, ALICE).json()["longest_seconds"] if expected == "20:00" else 5 * MINUTE
        assert ask(hub, ALICE, longest).status_code == 200 and limit(job) == expected
    refused = ask(hub, ALICE, MINUTE)
    assert refused.status_code == 409 and "this site allows 0:20:00 in all" in refused.json()["message"]["en"]
