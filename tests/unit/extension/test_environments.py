"""The routes of a person's own environments, with the real engine in a folder of the test's."""

import asyncio
import threading

import pytest

from siflab.environments import Place
from siflab.errors import Conflict
from siflab.text import Text
from siflab_extension import environments
from siflab_extension.environments import EnvironmentJobs, EnvironmentRequest

MAKE = {"action": "create", "name": "nlp", "packages": []}


@pytest.fixture
def place(tmp_path):
    return Place("sif:" + "a" * 64, "stock", "/stock.sif", Text("Stock", "标准"), str(tmp_path))


@pytest.fixture
def jobs(service, place):
    service.environments = EnvironmentJobs(lambda: place)
    return service.environments


async def ended(ask):
    while True:
        _, answer = await ask("GET", "/environments/job", of="/environments/job")
        if answer["job"]["state"] != "running":
            return answer["job"]
        await asyncio.sleep(0.02)


async def test_one_is_made_listed_and_removed(ask, jobs):
    assert (await ask("GET", "/environments/job", of="/environments/job"))[1] == {"job": None}
    status, begun = await ask("POST", "/environments", MAKE, of="/environments")
    assert (status, begun["state"], begun["name"]) == (202, "running", "nlp")
    job = await ended(ask)
    assert (job["state"], job["failure"], job["environment"]["kernel"]) == ("done", None, "siflab-nlp")
    _, listed = await ask("GET", "/environments", of="/environments")
    assert (listed["available"], listed["image"]["id"], listed["roots"]) == (True, "stock", ["home"])
    assert [each["state"] for each in listed["environments"]] == ["ready"]
    await ask("POST", "/environments", {"action": "remove", "name": "nlp"}, of="/environments")
    assert (await ended(ask))["state"] == "done"
    assert (await ask("GET", "/environments", of="/environments"))[1]["environments"] == []


async def test_a_failure_of_the_work_is_the_jobs(ask, jobs):
    await ask("POST", "/environments", {"action": "rebuild", "name": "nlp"}, of="/environments")
    job = await ended(ask)
    assert job["state"] == "failed"
    assert job["failure"]["code"] == "not-found"
    assert "nlp" in job["failure"]["message"]["zh"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**MAKE, "packages": ["--index-url=x"]}, "packages"),
        ({**MAKE, "action": "burn"}, "action"),
        ({"name": "x"}, "action"),
        ({**MAKE, "more": 1}, "more"),
    ],
)
async def test_what_is_wrong_is_said_at_its_field(ask, jobs, body, field):
    status, answer = await ask("POST", "/environments", body)
    assert (status, [error["field"] for error in answer["errors"]]) == (400, [field])
    assert jobs.job() is None


async def test_outside_of_a_session_it_is_said(ask, service):
    service.environments = EnvironmentJobs(lambda: None)
    _, listed = await ask("GET", "/environments", of="/environments")
    assert listed["available"] is False and "no session" in listed["why_not"]["en"]
    assert (await ask("POST", "/environments", MAKE))[0] == 404
    assert (await ask("POST", "/environments/job/stop", {}))[0] == 404


async def test_one_at_a_time_and_it_can_be_stopped(ask, jobs, monkeypatch):
    begun, go = threading.Event(), threading.Event()

    def slow(_place, _name, _packages, *, making, **_options):
        begun.set()
        go.wait(10)
        making.stop.check()

    monkeypatch.setattr(environments, "create", slow)
    await ask("POST", "/environments", MAKE, of="/environments")
    begun.wait(10)
    assert (await ask("POST", "/environments", MAKE))[0] == 409
    await ask("POST", "/environments/job/stop", {}, of="/environments/job/stop")
    go.set()
    assert (await ended(ask))["state"] == "stopped"


def test_two_pages_at_the_same_moment_begin_one(place, monkeypatch):
    go = threading.Event()
    monkeypatch.setattr(environments, "create", lambda *_given, **_options: go.wait(10))
    jobs, outcomes = EnvironmentJobs(lambda: place), []

    def begin():
        try:
            outcomes.append(jobs.begin(EnvironmentRequest(**MAKE))["number"])
        except Conflict:
            outcomes.append(None)

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    go.set()
    assert sorted(outcomes, key=str) == [1, *[None] * 7]
