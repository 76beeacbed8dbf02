"""When a choice would start: asked sparingly, answered always; and what would start sooner."""

import asyncio
import logging
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from siflab.config import Choice, parse_site, resolve
from siflab.errors import Invalid, SlurmUnreachable
from siflab.slurm.execute import Completed, PosixUser
from siflab_spawner.page import estimates, limit_check
from siflab_spawner.page.budget import Budget
from siflab_spawner.page.estimates import estimate_for, when
from siflab_spawner.page.nearby import nearby
from siflab_spawner.page.start_estimates import OverBudget, StartEstimates
from tests.unit.slurm import samples
from tests.unit.slurm.test_rights import RESEARCHER, STUDENT, rights
from tests.unit.spawner.conftest import SITE

ME = PosixUser("user1", 1001, 1001, (1001,), "/home/user1", "/bin/sh")
V100 = {"title": "V100", "image": "torch", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1, "memory": "1G",
        "time": "4:00:00"}  # fmt: skip
SITES = parse_site(
    {
        **SITE,
        "profiles": {
            "v100": {**V100, "allow": {"gpus": [1, 2], "time": "8:00:00"}},
            "a100": {**V100, "title": {"en": "One A100", "zh": "单 A100"}, "partition": "gpu-a100", "gpu_type": "a100"},
            "free": {**V100, "gpu_type": None, "allow": {"partition": ["gpu-a100", "cpu"], "gpus": 4}},
            "typed": {**V100, "partition": "interactive", "allow": {"gpu_type": ["a100"], "gpus": 4}},
            "cpu": {**V100, "title": "CPU", "partition": "cpu", "gpus": 0, "gpu_type": None},
        },
    }
)


def said(minutes, partition="gpu-v100"):
    start = datetime.now() + timedelta(minutes=minutes)
    text = (
        f"sbatch: Job 11 to start at {start:%Y-%m-%dT%H:%M:%S} using 1 processors on nodes x in partition {partition}\n"
    )
    return Completed(("sbatch",), 0, "", text)


REFUSAL = Completed(("sbatch",), 1, "", "allocation failure: Invalid qos specification\n")
AWAY = Completed(("sbatch",), 1, "", "sbatch: error: Unable to contact slurm controller (connect failure)\n")


class Slurm:
    """sbatch --test-only: an answer by partition, or for each."""

    def __init__(self, answers):
        self.answers, self.asked, self.gate = answers, [], None

    async def arun(self, argv, *, user=None, stdin=None, cwd=None, timeout=None):
        assert argv[:2] == ["sbatch", "--test-only"] and user is not None and stdin.startswith("#!")
        self.asked.append(argv)
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.answers, Completed):
            return self.answers
        return next(answer for name, answer in self.answers.items() if any(name in word for word in argv))


def resources(profile="v100", **options):
    return resolve(SITES, Choice(profile, **options), "session")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_the_same_question_is_asked_once_and_kept_for_half_a_minute():
    async def scene():
        clock, slurm = Clock(), Slurm(said(0))
        slurm.gate = asyncio.Event()
        reader = StartEstimates(slurm, Budget(clock=clock), clock)
        waiting = [asyncio.ensure_future(reader.ask(ME, resources())) for _ in range(20)]
        await asyncio.sleep(0)
        slurm.gate.set()
        assert [cached for _, cached in await asyncio.gather(*waiting)] == [False] + [True] * 19
        clock.now = 29.0
        assert (await reader.ask(ME, resources()))[1] is True
        clock.now = 31.0
        assert (await reader.ask(ME, resources()))[1] is False
        await reader.ask(ME, resources(gpus=2))
        return len(slurm.asked)

    assert asyncio.run(scene()) == 3


def test_an_answer_of_another_person_is_not_mine():
    async def scene():
        clock, slurm = Clock(), Slurm(said(0))
        reader = StartEstimates(slurm, Budget(clock=clock), clock)
        await reader.ask(ME, resources())
        await reader.ask(PosixUser("user2", 1002, 1002, (), "/home/user2", "/bin/sh"), resources())
        return len(slurm.asked)

    assert asyncio.run(scene()) == 2


def test_over_the_budget_slurm_is_not_asked():
    async def scene():
        clock, slurm = Clock(), Slurm(said(0))
        reader = StartEstimates(slurm, Budget(2, 10, 0.5, 2, clock), clock)
        await reader.ask(ME, resources(time="1:00:00"))
        await reader.ask(ME, resources(time="2:00:00"))
        with pytest.raises(OverBudget) as caught:
            await reader.ask(ME, resources(time="3:00:00"))
        return len(slurm.asked), caught.value.retry_after

    assert asyncio.run(scene()) == (2, 2.0)


@pytest.mark.parametrize("answer", [AWAY, Completed(("sbatch",), 0, "", ""), Completed(("sbatch",), 124, "", "")])
def test_no_answer_is_none_and_is_not_kept(answer):
    async def scene():
        slurm = Slurm(answer)
        reader = StartEstimates(slurm, Budget(clock=Clock()), Clock())
        for _ in range(2):
            with pytest.raises(SlurmUnreachable):
                await reader.ask(ME, resources())
        return len(slurm.asked)

    assert asyncio.run(scene()) == 2


def near(person, options, nodes=None, **changes):
    mine = rights(person, **changes)
    asked = resources(**options)
    return [(one.changes, one.room_now) for one in nearby(SITES, options, asked, [], mine)]


NEARBY = [
    # tgpu03 is reserved for the student: for others there is no room on the V100
    (RESEARCHER, {"profile": "v100", "gpus": 2}, [({"profile": "a100"}, True), ({"gpus": 1}, False), ({"profile": "free"}, False)]),
    (STUDENT, {"profile": "v100"}, [({"profile": "a100"}, True), ({"profile": "free"}, True), ({"profile": "typed"}, True)]),
    (RESEARCHER, {"profile": "cpu"}, []),
    (RESEARCHER, {"profile": "free", "gpus": 2}, [({"partition": "gpu-a100"}, True), ({"profile": "a100"}, True), ({"gpus": 1}, False)]),
    (RESEARCHER, {"profile": "typed", "gpus": 1}, [({"gpu_type": "a100"}, True), ({"profile": "a100"}, True), ({"profile": "v100"}, False)]),
]  # fmt: skip


@pytest.mark.parametrize(("person", "options", "expected"), NEARBY)
def test_what_is_near_and_allowed(person, options, expected):
    assert near(person, options) == expected


def test_less_time_is_near_too():
    only = samples.PARTITIONS["22.05"].replace("State=UP", "State=DRAIN").replace("gpu-v100", "gpu-v100", 1)
    lines = [
        line if line.startswith("PartitionName=gpu-v100") else new
        for line, new in zip(samples.PARTITIONS["22.05"].splitlines(), only.splitlines(), strict=True)
    ]
    found = near(RESEARCHER, {"profile": "v100", "time": "8:00:00"}, partitions="\n".join(lines))
    assert ({"time": "4:00:00"}, False) in found


@pytest.fixture
def ask(monkeypatch):
    """An estimate for RESEARCHER or STUDENT from these answers of sbatch."""

    def estimate(answers, options, person=RESEARCHER, budget=None):
        mine = rights(person)

        async def rights_soon(*_):
            return mine

        async def groups(spawner):
            return []

        async def user(name):
            return ME

        slurm = Slurm(answers)
        clock = Clock()
        reader = StartEstimates(slurm, budget or Budget(clock=clock), clock)
        facts = SimpleNamespace(rights_soon=rights_soon, rights=rights_soon)
        for module in (estimates, limit_check):
            monkeypatch.setattr(module, "facts_of", lambda spawner: facts)
        monkeypatch.setattr(estimates, "group_names", groups)
        monkeypatch.setattr(estimates, "find_user", user)
        monkeypatch.setattr(estimates, "replace", lambda slurm, **_: slurm)
        monkeypatch.setattr(estimates, "estimates_of", lambda spawner, slurm: reader)
        spawner = SimpleNamespace(
            site=SITES, slurm=slurm, user=SimpleNamespace(name=person.name), log=logging.getLogger("test")
        )
        return asyncio.run(estimate_for(spawner, options)), slurm

    return estimate


def test_what_starts_at_once_needs_no_alternatives(ask):
    found, slurm = ask(said(0), {"profile": "v100"})
    assert (found["now"], found["alternatives"], found["errors"], found["retry_after"]) == (True, [], [], None)
    assert found["words"]["en"] == "It would start at once." and len(slurm.asked) == 1


def test_what_would_start_sooner_the_best_first(ask):
    found, slurm = ask({"gpu-a100": said(0), "gpu-v100": said(120)}, {"profile": "v100", "gpus": 2})
    assert found["now"] is False and found["start_at"] and "in 2 h 0 min" in found["words"]["en"]
    (one,) = found["alternatives"]
    assert (one["options"], one["now"]) == ({"profile": "a100"}, True)
    assert one["words"] == {"en": "One A100: it would start at once", "zh": "单 A100：可以立即开始。"}
    assert len(slurm.asked) == 4  # the choice, and three that are near


def test_over_the_budget_the_inventory_answers(ask):
    clock = Clock()
    budget = Budget(2, 10, 0.5, 1, clock)
    budget.take("user1")
    found, slurm = ask(said(0), {"profile": "a100"}, budget=budget)
    assert (found["now"], found["start_at"], found["retry_after"]) == (True, None, 2.0)
    assert slurm.asked == []
    found, slurm = ask(said(0), {"profile": "v100"}, budget=budget)
    assert found["now"] is False and slurm.asked == []
    assert [one["options"] for one in found["alternatives"]] == [{"profile": "a100"}]


def test_when_slurm_does_not_answer_the_inventory_does(ask):
    found, _ = ask(AWAY, {"profile": "a100"})
    assert (found["now"], found["errors"], found["retry_after"]) == (True, [], 15.0)
    assert "cannot be reached" in found["words"]["en"] and "There is room" in found["words"]["en"]


WRONG = [
    ({"profile": "nothing"}, "profile", 0),
    ({"profile": "v100", "gpus": 9}, "gpus", 0),
    ({"profile": "free", "partition": "gpu-a100", "gpus": 9}, "gpus", 0),
    ({"profile": "free", "partition": "cpu"}, "partition", 0),
]


@pytest.mark.parametrize(("options", "field", "asked"), WRONG)
def test_what_is_wrong_is_said_without_asking_slurm(ask, options, field, asked):
    found, slurm = ask(said(0), options)
    assert [error["field"] for error in found["errors"]] == [field] and len(slurm.asked) == asked
    assert found["now"] is False and found["alternatives"] == []


def test_what_slurm_refuses_stands_at_its_field(ask):
    found, _ = ask(REFUSAL, {"profile": "v100"})
    assert [(error["field"], error["code"]) for error in found["errors"]] == [("qos", "slurm-refused")]


@pytest.mark.parametrize("options", [[], "x", {"sbatch": "--uid=0"}, {"profile": {"a": 1}}])
def test_what_is_no_choice_is_refused(ask, options):
    with pytest.raises(Invalid):
        ask(said(0), options)


def test_without_a_choice_it_is_the_first_profile(ask):
    _, slurm = ask(said(0), {})
    assert "--partition=gpu-v100" in slurm.asked[0]


MOMENT = datetime(2026, 12, 1, 14, 0)
TIMES = [
    (-5, "It would start at once."),
    (1, "It would start at once."),
    (20, "It would start at about 14:20 (in 20 min)."),
    (150, "It would start at about 16:30 (in 2 h 30 min)."),
    (60 * 30, "It would start at about 2026-12-02 20:00 (in 1 d 6 h)."),
]


@pytest.mark.parametrize(("minutes", "words"), TIMES)
def test_when_in_words(minutes, words):
    assert when(MOMENT + timedelta(minutes=minutes), MOMENT).en == words
