"""What the spawn page is told, and what a start refuses, on a real cluster: limits of QOS, partition and nodes, estimates, links."""

import html.parser
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from tests.cluster.hub import USERS, Blocker, Hub, running_hub, site, slurm, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
RESEARCHER, STUDENT = USERS[0], USERS[2]
COMMON = {"image": "stock", "cpus": 1, "memory": "1G", "time": "0:30:00", "gpus": 1}
V100 = {
    **COMMON,
    "title": "V100",
    "partition": "gpu-v100",
    "gpu_type": "v100",
    "allow": {"gpus": [1, 2], "time": "1-00:00:00"},
}
OPEN = {
    **COMMON, "title": "Open", "partition": "gpu-a100", "gpu_type": "a100",
    "allow": {"gpus": {"min": 1, "max": 8}, "time": "1-00:00:00", "partition": ["gpu-v100", "interactive"],
              "gpu_type": ["a100", "v100"], "account": "any", "qos": "any", "reservation": "any"},
}  # fmt: skip


OLDER_HUB = os.environ.get("SIFLAB_TEST_OLDER_HUB", "")


def started(folder, **how):
    data = site()
    data["profiles"].update(v100=V100, open=OPEN)
    for made in running_hub(folder, data, **how):
        for user in (RESEARCHER, STUDENT):
            made.add_user(user)
        yield made


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    yield from started(tmp_path_factory.mktemp("offer"))


@pytest.fixture(scope="module")
def older_hub(tmp_path_factory):
    if not OLDER_HUB:
        pytest.skip("no JupyterHub 5.3: SIFLAB_TEST_OLDER_HUB")
    yield from started(tmp_path_factory.mktemp("older"), python=OLDER_HUB)


@pytest.fixture(params=["hub", "older_hub"])
def either_hub(request):
    return request.getfixturevalue(request.param)


def offer(hub, user, **query):
    answer = hub.api("GET", "siflab/offer", params={"user": user, **query})
    assert answer.status_code == 200, answer.text
    return answer.json()


def estimate(hub, user, **options):
    answer = hub.api("POST", "siflab/estimate", params={"user": user}, json=options)
    assert answer.status_code == 200, answer.text
    return answer.json()


class Person:
    """Somebody with a browser, without JavaScript."""

    def __init__(self, hub: Hub, user: str) -> None:
        self.hub, self.user, self.session = hub, user, requests.Session()
        self.get("login")
        done = self.post("login", {"username": user, "password": "x"})
        assert done.status_code == 200, done.text

    @property
    def xsrf(self) -> str:
        return next(cookie.value for cookie in self.session.cookies if cookie.name == "_xsrf")

    def get(self, path: str, **kwargs):
        return self.session.get(f"{self.hub.url}/hub/{path}", timeout=60, **kwargs)

    def post(self, path: str, form):
        return self.session.post(f"{self.hub.url}/hub/{path}", data={**form, "_xsrf": self.xsrf}, timeout=60)

    def api(self, method: str, path: str, *, xsrf: bool, **kwargs):
        headers = {
            "Sec-Fetch-Mode": "cors",
            "Sec-Fetch-Site": "same-origin",
            **({"X-XSRFToken": self.xsrf} if xsrf else {}),
        }
        return self.session.request(method, f"{self.hub.url}/hub/api/{path}", headers=headers, timeout=60, **kwargs)


class Chosen(html.parser.HTMLParser):
    """What a form shows as chosen: {name: value}."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._select = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        one = dict(attrs)
        if tag == "select":
            self._select = one.get("name", "")
        elif tag == "option" and "selected" in one:
            self.values[self._select] = one["value"]
        elif tag == "input" and one.get("name") and (one.get("type") != "radio" or "checked" in one):
            self.values[one["name"]] = one.get("value", "")


def test_the_offer_is_what_the_cluster_is(hub):
    found = offer(hub, RESEARCHER)
    partitions = {one["name"]: one for one in found["partitions"]}
    assert set(partitions) == {"gpu-a100", "gpu-v100", "cpu", "interactive"} and found["stale"] is False
    assert [(g["type"], g["kind"], g["total"]) for g in partitions["gpu-a100"]["gpus"]] == [("a100", "gpu", 8)]
    assert partitions["gpu-v100"]["max_time_seconds"] == 8 * 3600
    assert [one["name"] for one in found["accounts"]] == ["research"]
    fields = found["profiles"]["open"]["fields"]
    assert (fields["gpus"]["max"], fields["time"]["max_seconds"]) == (4, 8 * 3600)
    basic = offer(hub, RESEARCHER, profile="open", qos="gpu-basic")["profiles"]["open"]["fields"]
    assert (basic["gpus"]["max"], basic["time"]["max_seconds"]) == (2, 4 * 3600)
    assert "gpu-basic" in basic["gpus"]["why"]["en"]
    student = offer(hub, STUDENT)["profiles"]["open"]["fields"]["gpus"]
    assert student["max"] == 1 and "course" in student["why"]["en"]
    assert student["why"]["zh"] != student["why"]["en"]


REFUSED = [
    (STUDENT, {"profile": "open", "gpus": 2}, "gpus", "QOS course allows one person at most 1 GPU"),
    (STUDENT, {"profile": "v100", "gpus": "2"}, "gpus", "QOS course"),
    (RESEARCHER, {"profile": "open", "gpus": 3, "qos": "gpu-basic"}, "gpus", "QOS gpu-basic allows one person at most 2 GPUs"),
    (RESEARCHER, {"profile": "open", "gpus": 5}, "gpus", "no node of partition gpu-a100 has more than 4"),
    (RESEARCHER, {"profile": "open", "time": "9:00:00"}, "time", "partition gpu-a100 allows at most 8:00:00"),
    (RESEARCHER, {"profile": "open", "account": "cs101"}, "account", "you may not use the account cs101"),
    (RESEARCHER, {"profile": "open", "qos": "course"}, "qos", "you may not use the QOS course"),
    (RESEARCHER, {"profile": "open", "reservation": "nothing"}, "reservation", "you may not use the reservation"),
    (RESEARCHER, {"profile": "open", "partition": "gpu-v100"}, "gpu_type", "partition gpu-v100 has no a100"),
]  # fmt: skip


@pytest.mark.parametrize(("user", "options", "field", "words"), REFUSED)
def test_what_the_limits_prove_impossible_is_refused_before_slurm_is_asked(hub, user, options, field, words):
    for name in ("", "second"):
        answer = hub.spawn(user, name, **options)
        assert answer.status_code == 400, answer.text
        assert f"{field}: " in answer.json()["message"] and words in answer.json()["message"]
    assert [error["field"] for error in estimate(hub, user, **options)["errors"]] == [field]
    assert hub.jobs(user) == []


def test_who_may_ask(hub):
    url = f"{hub.url}/hub/api/siflab/offer"
    token = hub.api("POST", f"users/{STUDENT}/tokens", json={"note": "test"}).json()["token"]
    mine = {"Authorization": f"token {token}"}
    assert requests.get(url, headers=mine, timeout=60).json()["accounts"][0]["name"] == "cs101"
    assert requests.get(url, headers=mine, params={"user": RESEARCHER}, timeout=60).status_code == 403
    assert requests.get(url, headers=mine, params={"user": "nobody-here"}, timeout=60).status_code == 403
    assert requests.get(url, timeout=60).status_code == 403
    assert requests.post(url.replace("offer", "estimate"), json={"profile": "cpu"}, timeout=60).status_code == 403
    narrow = {"note": "test", "scopes": [f"read:users!user={STUDENT}"]}
    weak = hub.api("POST", f"users/{STUDENT}/tokens", json=narrow).json()["token"]
    assert requests.get(url, headers={"Authorization": f"token {weak}"}, timeout=60).status_code == 403


def test_with_a_cookie_the_hubs_xsrf_rules_hold(hub):
    person = Person(hub, STUDENT)
    assert person.get("spawn").status_code == 200
    assert person.api("GET", "siflab/offer", xsrf=True).json()["accounts"][0]["name"] == "cs101"
    assert person.api("GET", "siflab/offer", xsrf=False).status_code == 403
    body = {"json": {"profile": "cpu"}}
    assert person.api("POST", "siflab/estimate", xsrf=False, **body).status_code == 403
    assert person.api("POST", "siflab/estimate", xsrf=True, data="profile=cpu").status_code in (400, 403)
    assert person.api("POST", "siflab/estimate", xsrf=True, **body).json()["errors"] == []


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"cmd": "sh"}', b'{"gpus": [1]}', b"[" * 100000])
def test_what_is_no_choice_is_refused(hub, body):
    answer = hub.api("POST", "siflab/estimate", params={"user": STUDENT}, data=body)
    assert answer.status_code == 400 and answer.json()["code"] == "invalid"


def test_what_waits_and_what_would_start_sooner(hub):
    with Blocker():
        wait_for(lambda: offer(hub, RESEARCHER)["profiles"]["v100"]["gpus_free"] == 0, 30, "the V100 are seen as taken")
        assert offer(hub, RESEARCHER)["profiles"]["v100"]["free_now"] is False
        found = estimate(hub, RESEARCHER, profile="v100", gpus=2)
        assert found["now"] is False and found["errors"] == [] and found["start_at"]
        best = found["alternatives"][0]
        assert best["now"] is True and best["options"]["profile"] in ("a100", "open")
        again = estimate(hub, RESEARCHER, profile="v100", gpus=2)
        assert again["cached"] is True and again["start_at"] == found["start_at"]
        times = [f"0:{minute}:00" for minute in range(10, 40)]
        with ThreadPoolExecutor(len(times)) as pool:  # at one moment: more than one person may ask
            answers = list(pool.map(lambda time: estimate(hub, RESEARCHER, profile="v100", time=time), times))
        rationed = [one for one in answers if one["retry_after"]]
        assert rationed and not any(one["now"] or one["start_at"] or one["errors"] for one in rationed)


def test_an_estimate_makes_no_job(hub):
    before = slurm("squeue", "--noheader", "--states=all", f"--user={STUDENT}", "--format=%A").split()
    assert estimate(hub, STUDENT, profile="cpu", cpus=2)["errors"] == []
    assert slurm("squeue", "--noheader", "--states=all", f"--user={STUDENT}", "--format=%A").split() == before


def test_drained_and_reserved_nodes_are_shown_with_the_reason(hub):
    nodes = {one["name"]: [node["name"] for node in one["nodes"]] for one in offer(hub, STUDENT)["partitions"]}
    drained, reserved = nodes["gpu-a100"][0], nodes["gpu-v100"][0]

    def node(name):
        every = [node for one in offer(hub, STUDENT)["partitions"] for node in one["nodes"]]
        return next(one for one in every if one["name"] == name)

    slurm("scontrol", "update", f"nodename={drained}", "state=drain", "reason=new cables")
    try:
        slurm("scontrol", "create", "reservation", "reservationname=lab", "starttime=now", "duration=30",
              f"nodes={reserved}", f"users={STUDENT}")  # fmt: skip
        wait_for(lambda: node(reserved)["state"] == "reserved", 40, "the reservation is seen")
        found = node(drained)
        assert found["state"] == "drain" and "new cables" in found["words"]["zh"]
        assert (found["gpus"][0]["free"], found["gpus"][0]["down"]) == (0, 4)
        student, other = offer(hub, STUDENT), offer(hub, RESEARCHER)
        assert [one["name"] for one in student["reservations"]] == ["lab"] and other["reservations"] == []
        assert other["profiles"]["v100"]["free_now"] is False
        query = {"profile": "open", "partition": "gpu-v100", "gpu_type": "v100", "reservation": "lab"}
        fields = offer(hub, STUDENT, **query)["profiles"]["open"]["fields"]
        assert 0 < fields["time"]["max_seconds"] <= 1800 and "reservation lab ends" in fields["time"]["why"]["en"]
        refused = hub.spawn(STUDENT, **query, time="1:00:00")
        assert refused.status_code == 400 and "reservation lab ends" in refused.json()["message"]
        assert hub.spawn(RESEARCHER, **query).status_code == 400
    finally:
        slurm("scontrol", "update", f"nodename={drained}", "state=resume")
        subprocess.run(["scontrol", "delete", "reservation=lab"], check=False)


LINKS = ["spawn?profile=v100&gpus=2&time=1:00:00", "spawn?opt-profile=v100&opt-gpus=2&opt-time=1:00:00&gpus=1"]


@pytest.mark.parametrize("link", LINKS)
def test_a_link_fills_in_the_form_and_starts_nothing(either_hub, link):
    person = Person(either_hub, RESEARCHER)
    for path in (link, link.replace("spawn?", f"spawn/{RESEARCHER}/lab?")):
        page = person.get(path)
        assert page.status_code == 200 and "/spawn-pending/" not in page.url
        chosen = Chosen(page.text).values
        assert (chosen["profile"], chosen["v100.gpus"], chosen["v100.time"]) == ("v100", "2", "1:00:00")
    assert either_hub.server(RESEARCHER).get("pending") is None and either_hub.jobs(RESEARCHER) == []
    assert "Failed to spawn" not in either_hub.told()


def test_a_hostile_link_is_text(hub):
    page = Person(hub, RESEARCHER).get('spawn?profile=v100&time="><script>alert(1)</script>&cmd=sh&one.two=3')
    assert page.status_code == 200 and "<script>alert(1)" not in page.text
    assert hub.jobs(RESEARCHER) == []


def test_what_the_form_sends_is_checked_and_shown_again(either_hub):
    person = Person(either_hub, STUDENT)
    page = person.post("spawn?profile=v100", {"profile": "v100", "v100.gpus": "2", "cpu.time": "9:00:00"})
    assert "QOS course" in page.text and either_hub.jobs(STUDENT) == []
    assert Chosen(page.text).values["profile"] == "v100"
    assert Chosen(person.get("spawn").text).values["profile"] == "v100"


def test_the_last_choice_is_remembered(hub):
    person = Person(hub, STUDENT)
    assert person.post("spawn", {"profile": "cpu", "cpu.cpus": "2", "v100.gpus": "2"}).status_code == 200
    hub.wait_ready(STUDENT)
    assert hub.server(STUDENT)["user_options"] == {"profile": "cpu", "cpus": "2"}
    hub.stop_server(STUDENT)
    hub.wait_stopped(STUDENT)
    chosen = Chosen(person.get("spawn").text).values
    assert (chosen["profile"], chosen["cpu.cpus"]) == ("cpu", "2")
