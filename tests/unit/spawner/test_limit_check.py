"""What is refused before a job is submitted because the limits that are known prove it impossible, and only that."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from siflab.config import Choice, parse_site, resolve
from siflab.errors import Invalid
from siflab_spawner.page import limit_check
from siflab_spawner.page.limit_check import clip_time, proven, within_limits
from tests.unit.slurm import samples
from tests.unit.slurm.test_rights import NOW, RESEARCHER, STUDENT, rights
from tests.unit.spawner.conftest import SITE

PROFILE = {
    "title": "P", "image": "torch", "partition": "gpu-a100", "gpus": 1, "gpu_type": "a100", "cpus": 1, "memory": "4G",
    "time": "2:00:00",
    "allow": {"gpus": 64, "cpus": 1000, "memory": "9T", "time": "9-00:00:00", "account": "any", "qos": "any",
              "reservation": "any", "partition": ["gpu-v100", "cpu", "interactive"], "gpu_type": ["a100", "v100"]},
}  # fmt: skip
SITES = parse_site({**SITE, "profiles": {"p": PROFILE}})


def asked(**options):
    return resolve(SITES, Choice("p", **options), "session")


REFUSED = [
    (STUDENT, {"gpus": 2}, "gpus", "2 GPUs cannot be had: QOS course allows one person at most 1 GPU; ask for 1 GPU or less"),
    (RESEARCHER, {"gpus": 3, "qos": "gpu-basic"}, "gpus", "QOS gpu-basic allows one person at most 2 GPUs"),
    (RESEARCHER, {"gpus": 5}, "gpus", "no node of partition gpu-a100 has more than 4 a100 GPUs"),
    (RESEARCHER, {"time": "8:00:01"}, "time", "partition gpu-a100 allows at most 8:00:00"),
    (RESEARCHER, {"time": "4:00:01", "qos": "gpu-basic"}, "time", "QOS gpu-basic allows a job at most 4:00:00"),
    (RESEARCHER, {"cpus": 33}, "cpus", "has more than 32 CPUs"),
    (RESEARCHER, {"memory": "251G"}, "memory", "has more than 250G"),
    (RESEARCHER, {"account": "cs101"}, "account", "you may not use the account cs101; you may use: research"),
    (RESEARCHER, {"qos": "course"}, "qos", "you may not use the QOS course"),
    (RESEARCHER, {"reservation": "lab1"}, "reservation", "you may not use the reservation lab1"),
    (RESEARCHER, {"gpu_type": "v100"}, "gpu_type", "partition gpu-a100 has no v100"),
    (RESEARCHER, {"partition": "cpu"}, "gpu_type", "partition cpu has no a100"),
    (RESEARCHER, {"partition": "interactive", "gpu_type": "v100", "cpus": 64}, "cpus", "has more than 16 CPUs"),
    (STUDENT, {"partition": "gpu-v100", "gpu_type": "v100", "reservation": "lab1", "time": "1:00:00"}, "time", "reservation lab1 ends at"),
]  # fmt: skip


@pytest.mark.parametrize(("person", "options", "field", "words"), REFUSED)
def test_what_is_proven_impossible(person, options, field, words):
    (error,) = proven(rights(person), asked(**options))
    assert error.field == field and words in error.message.en and error.message.zh != error.message.en


PASSED = [
    (STUDENT, {}),
    (STUDENT, {"gpus": 3, "qos": "normal"}),
    (RESEARCHER, {"gpus": 4, "cpus": 32, "memory": "250G", "time": "8:00:00"}),
    (RESEARCHER, {"gpus": 2, "qos": "gpu-basic", "time": "4:00:00", "account": "research"}),
    (RESEARCHER, {"partition": "gpu-v100", "gpu_type": "v100", "gpus": 2}),
]


@pytest.mark.parametrize(("person", "options"), PASSED)
def test_what_is_let_through(person, options):
    assert proven(rights(person), asked(**options)) == []


def test_each_may_be_there_but_not_on_one_node():
    uneven = samples.NODES["22.05"].replace("CPUEfctv=32 CPUTot=32", "CPUEfctv=8 CPUTot=8", 1).replace(
        "Gres=gpu:a100:4", "Gres=gpu:a100:8", 1
    )  # fmt: skip
    from siflab.slurm.inventory import take_inventory
    from siflab.slurm.scontrol import parse_nodes, parse_partitions

    mine = rights(RESEARCHER)
    mine.inventory = take_inventory(parse_nodes(uneven), parse_partitions(samples.PARTITIONS["22.05"]), [], NOW)
    assert proven(mine, asked(gpus=8, cpus=8)) == [] and proven(mine, asked(gpus=4, cpus=32)) == []
    (error,) = proven(mine, asked(gpus=8, cpus=32))
    assert (error.field, error.code) == ("gpus", "no-such-node") and "8 a100 GPUs, 32 CPUs" in error.message.en


LAB = {"partition": "gpu-v100", "gpu_type": "v100", "reservation": "lab1"}


@pytest.mark.parametrize(
    ("options", "chosen", "seconds"), [(LAB, False, 2400), ({**LAB, "time": "1:00:00"}, True, 3600), ({}, False, 7200)]
)
def test_a_time_that_nobody_chose_ends_with_the_reservation(options, chosen, seconds):
    assert clip_time(rights(STUDENT), asked(**options), chosen).time_seconds == seconds


class Facts:
    """`rights_soon` gives what is old first, then what is fresh."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    async def rights_soon(self, user, max_age, patience):
        self.asked.append(max_age)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def check(monkeypatch, facts, **options):
    monkeypatch.setattr(limit_check, "facts_of", lambda spawner: facts)
    spawner = SimpleNamespace(user=SimpleNamespace(name="user3"))
    return asyncio.run(within_limits(spawner, asked(**options), {"profile": "p", **options}))


def test_nothing_is_refused_for_a_limit_of_yesterday(monkeypatch):
    old = rights(STUDENT)
    fresh = rights(STUDENT, qos=samples.QOS.replace("course||||gres/gpu=1", "course||||gres/gpu=3"))
    facts = Facts(old, fresh)
    assert check(monkeypatch, facts, gpus=3).gpus == 3
    assert facts.asked == [float("inf"), 15.0]


def test_what_is_good_asks_for_nothing_fresh(monkeypatch):
    facts = Facts(rights(STUDENT))
    assert check(monkeypatch, facts).gpus == 1 and len(facts.asked) == 1


def test_what_stays_impossible_is_refused_with_every_field(monkeypatch):
    with pytest.raises(Invalid) as caught:
        check(monkeypatch, Facts(rights(STUDENT)), gpus=2, time="9:00:00", qos="gpu-large")
    assert [error.field for error in caught.value.errors] == ["qos", "time"]


def test_where_nothing_is_known_sbatch_decides(monkeypatch):
    nothing = rights(STUDENT)
    nothing.inventory, nothing.accounting = None, replace(nothing.accounting, enforced=None)
    assert check(monkeypatch, Facts(nothing), gpus=64, time="9-00:00:00").gpus == 64
