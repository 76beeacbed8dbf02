"""The offer: what a profile comes to for one person, from what Slurm said."""

import asyncio
import logging
from types import SimpleNamespace

import pytest

from siflab.config import parse_site
from siflab.errors import Internal
from siflab.slurm.execute import Completed, PosixUser
from siflab.text import Text
from siflab_spawner.page import offer as offer_module
from siflab_spawner.page import slurm_facts
from siflab_spawner.page.offer import offer_for
from siflab_spawner.page.offer_fields import ProfileOffer
from siflab_spawner.page.slurm_facts import SlurmFacts
from tests.unit.slurm import samples
from tests.unit.slurm.test_rights import RESEARCHER, STUDENT, rights
from tests.unit.spawner.conftest import SITE, FakeSlurm

CONFIG = "AccountingStorageEnforce = associations,limits,qos,safe\nClusterName             = main\n"
USERS = "root|root\nuser1|research\nuser2|research\nuser3|cs101\n"
NOTHING_RESERVED = "No reservations in the system\n"


def profile(**changes):
    base = {"title": "P", "image": "torch", "partition": "gpu-a100", "gpus": 1, "gpu_type": "a100", "cpus": 4,
            "memory": "4G", "time": "2:00:00"}  # fmt: skip
    return {**base, **changes}


OPEN = profile(
    allow={"gpus": [1, 2, 4], "cpus": {"max": 64}, "memory": "2T", "time": "1-00:00:00", "image": ["other"],
           "partition": ["gpu-a100", "gpu-v100", "cpu"], "gpu_type": ["a100", "v100"], "account": "any", "qos": "any",
           "reservation": "any"}
)  # fmt: skip
SITES = parse_site(
    {
        **SITE,
        "profiles": {
            "open": OPEN,
            "fixed": profile(),
            "two": profile(gpus=2),
            "huge": profile(gpus=8),
            "wide": profile(cpus=64),
            "long": profile(time="9:00:00"),
            "nowhere": profile(partition="nowhere"),
            "none": profile(partition="cpu"),
            "lab": profile(partition="gpu-v100", gpu_type="v100", reservation="lab1"),
            "cpu": profile(partition="cpu", gpus=0, gpu_type=None, allow={"gpus": 0}),
        },
    }
)


def of(person, key, selection=None, **changes):
    return ProfileOffer(SITES, key, SITES.profiles[key], rights(person, **changes), selection).as_dict()


WHETHER = [
    (RESEARCHER, "fixed", True, ""),
    (STUDENT, "fixed", True, ""),
    (RESEARCHER, "two", True, ""),
    (STUDENT, "two", False, "QOS course allows one person at most 1 GPU"),
    (RESEARCHER, "huge", False, "no node of partition gpu-a100 has more than 4 a100 GPUs"),
    (RESEARCHER, "wide", False, "no node of partition gpu-a100 has more than 32 CPUs"),
    (RESEARCHER, "long", False, "partition gpu-a100 allows at most 8:00:00"),
    (RESEARCHER, "nowhere", False, "Slurm has no partition nowhere"),
    (RESEARCHER, "none", False, "partition cpu has no a100"),
    (RESEARCHER, "lab", False, "you may not use the reservation lab1"),
    (STUDENT, "lab", True, ""),
    (RESEARCHER, "cpu", True, ""),
]


@pytest.mark.parametrize(("person", "key", "possible", "why"), WHETHER)
def test_whether_a_profile_is_possible(person, key, possible, why):
    found = of(person, key)
    assert found["possible"] is possible
    assert found["why"] is None if possible else found["why"]["en"] == why and found["why"]["zh"] != why


def test_limits_are_the_least_of_all_and_named():
    fields = of(RESEARCHER, "open")["fields"]
    assert fields["gpus"] == {"min": 1, "max": 4, "choices": [1, 2, 4], "preset": 1, "why": None}
    assert (fields["cpus"]["max"], fields["cpus"]["why"]["en"]) == (
        32, "no node of partition gpu-a100 has more than 32 CPUs",
    )  # fmt: skip
    assert fields["memory"]["max_mib"] == 256000 and "no node" in fields["memory"]["why"]["en"]
    assert (fields["time"]["max_seconds"], fields["time"]["why"]["en"]) == (
        28800, "partition gpu-a100 allows at most 8:00:00",
    )  # fmt: skip
    student = of(STUDENT, "open")["fields"]["gpus"]
    assert (student["max"], student["choices"]) == (1, [1]) and "QOS course" in student["why"]["en"]


SELECTIONS = [
    ({}, "gpus", "max", 4),
    ({"qos": "gpu-basic"}, "gpus", "choices", [1, 2]),
    ({"qos": "gpu-basic"}, "time", "max_seconds", 14400),
    ({"partition": "gpu-v100", "gpu_type": "v100"}, "gpus", "max", 2),
    ({"partition": "gpu-v100", "gpu_type": "v100"}, "cpus", "max", 16),
    ({"gpus": "99", "time": "never", "qos": "gpu-basic", "profile": "fixed"}, "gpus", "max", 2),
    ({"qos": "'; drop"}, "gpus", "max", 4),
    ({"gpus": "4", "hostile": "<script>"}, "gpus", "max", 4),
]


@pytest.mark.parametrize(("selection", "field", "key", "value"), SELECTIONS)
def test_fields_are_for_what_is_selected(selection, field, key, value):
    assert of(RESEARCHER, "open", selection)["fields"][field][key] == value


def choices(person, field, **changes):
    found = of(person, "open", **changes)["fields"][field]["choices"]
    return {one["value"]: (one["possible"], one["free"], one["limits"] and one["limits"]["gpus"]) for one in found}


def test_choices_of_each_list():
    assert choices(RESEARCHER, "partition") == {
        "gpu-a100": (True, 3, 4), "gpu-v100": (True, 0, 2), "cpu": (False, 0, 0),
    }  # fmt: skip
    assert choices(RESEARCHER, "gpu_type") == {"a100": (True, 3, 4), "v100": (True, 0, 2)}
    assert choices(RESEARCHER, "account") == {"": (True, None, 4), "research": (True, None, 4)}
    assert choices(RESEARCHER, "qos") == {
        "": (True, None, 4), "gpu-basic": (True, None, 2), "gpu-large": (True, None, 4), "normal": (True, None, 4),
    }  # fmt: skip
    assert choices(STUDENT, "qos") == {"": (True, None, 1), "course": (True, None, 1), "normal": (True, None, 3)}
    assert list(choices(RESEARCHER, "reservation")) == [""]
    assert choices(STUDENT, "reservation") == {
        "": (True, None, 1), "lab1": (True, None, 1), "cs": (False, None, 1),
    }  # fmt: skip
    assert list(choices(RESEARCHER, "image")) == ["torch", "other"]


def test_what_is_free_is_what_this_person_may_have():
    assert of(RESEARCHER, "fixed")["free_now"] is True and of(RESEARCHER, "fixed")["gpus_free"] == 3
    assert of(STUDENT, "lab")["free_now"] is True and of(STUDENT, "lab")["gpus_free"] == 2
    assert of(RESEARCHER, "lab")["free_now"] is False
    down = samples.PARTITIONS["22.05"].replace("State=UP", "State=DOWN")
    stopped = of(RESEARCHER, "fixed", partitions=down)
    assert (stopped["possible"], stopped["free_now"]) == (True, False)


def test_where_nothing_is_known_nothing_is_forbidden():
    mine = rights(RESEARCHER)
    mine.inventory = None
    found = ProfileOffer(SITES, "open", SITES.profiles["open"], mine).as_dict()
    assert (found["possible"], found["free_now"], found["gpus_total"]) == (True, False, None)
    assert found["fields"]["gpus"]["max"] == 4 and found["fields"]["time"]["max_seconds"] == 86400


def slurm(**changes):
    texts = {"node": samples.NODES["22.05"], "partition": samples.PARTITIONS["22.05"], "config": CONFIG,
             "reservation": NOTHING_RESERVED, "associations": samples.ASSOCIATIONS, "qos": samples.QOS, "user": USERS,
             **changes}  # fmt: skip

    def answer(argv):
        name = next(word for word in texts if word in argv[1:])
        text = texts[name]
        return text if isinstance(text, Completed) else Completed(tuple(argv), 0, text, "")

    fake = FakeSlurm(scontrol=answer, sacctmgr=answer)
    fake.cluster = None
    return fake


@pytest.fixture
def ask(monkeypatch):
    async def groups(spawner):
        return []

    def offer(fake, times=1, user="user1", selection=None):
        async def scene():
            log = logging.getLogger("test")
            facts = SlurmFacts(fake, log)
            monkeypatch.setattr(offer_module, "facts_of", lambda spawner: facts)
            monkeypatch.setattr(offer_module, "group_names", groups)
            spawner = SimpleNamespace(site=SITES, log=log, user=SimpleNamespace(name=user))
            return [await offer_for(spawner, selection) for _ in range(times)][-1]

        return asyncio.run(scene())

    return offer


def test_the_whole_offer(ask):
    fake = slurm()
    found = ask(fake, times=20)
    assert (found["stale"], found["message"], found["age_seconds"]) == (False, None, 0)
    assert [one["name"] for one in found["partitions"]] == ["gpu-a100", "gpu-v100", "cpu"]
    a100 = found["partitions"][0]
    assert a100["gpus"] == [{"type": "a100", "kind": "gpu", "total": 8, "free": 3, "down": 4}]
    assert a100["nodes"][1]["state"] == "drain" and a100["nodes"][1]["gpus"][0]["free"] == 0
    assert found["accounts"] == [
        {"name": "research", "default": True, "qos": ["gpu-basic", "gpu-large", "normal"], "default_qos": "normal"}
    ]
    assert [one["name"] for one in found["qos"]] == ["gpu-basic", "gpu-large", "normal"]
    assert set(found["profiles"]) == set(SITES.profiles)
    assert len(fake.calls) == 7  # however often it is looked at, and by however many


@pytest.mark.parametrize(("constrain", "said"), [("yes", False), ("no", True)])
def test_gpus_that_are_not_kept_apart_are_said(ask, constrain, said):
    found = ask(slurm(config=f"{CONFIG}\nConstrainDevices        = {constrain}\n"))
    notes = {name: offered.get("note") for name, offered in found["profiles"].items()}
    for name, profile in SITES.profiles.items():
        uses_gpus = bool(profile.gpus or profile.allow.gpus)
        assert bool(notes[name]) is (said and uses_gpus), name
    assert not said or any("CUDA_VISIBLE_DEVICES" in note["zh"] for note in notes.values() if note)


AWAY = Completed(("x",), 1, "", "slurm_load_partitions: Unable to contact slurm controller (connect failure)")
DATABASE_AWAY = Completed(
    ("x",), 1, "", "sacctmgr: error: slurm_persist_conn_open: failed to send persistent connection"
)


def test_without_slurm_the_page_is_there_and_says_so(ask):
    found = ask(slurm(node=AWAY, partition=AWAY, reservation=AWAY, config=AWAY))
    assert found["stale"] is True and "cannot be reached" in found["message"]["en"]
    assert found["partitions"] == [] and found["profiles"]["huge"]["possible"] is True


@pytest.mark.parametrize("changes", [{"associations": DATABASE_AWAY}, {"qos": "garbage|x\n"}, {"config": "nothing"}])
def test_without_the_database_nothing_is_forbidden_by_it(ask, changes):
    found = ask(slurm(**changes), user="user3")
    assert found["accounts"] == [] and found["profiles"]["two"]["possible"] is True
    assert found["profiles"]["huge"]["possible"] is False  # what the nodes have is known all the same


def test_where_nothing_is_enforced_the_database_is_not_asked(ask):
    fake = slurm(config="AccountingStorageEnforce = none\n")
    assert ask(fake)["profiles"]["two"]["possible"] is True
    assert fake.named("sacctmgr") == []


def test_nodes_that_slurm_shows_to_nobody_are_not_named(ask):
    found = ask(slurm(config=CONFIG + "PrivateData = nodes,usage\n"))
    partition = found["partitions"][0]
    assert (partition["nodes"], partition["nodes_left_out"], partition["gpus"][0]["free"]) == ([], 2, 3)


GROUPS = [(["lab"], True), (["staff"], False), (["staff", "lab"], True), (["of-the-cluster-only"], True)]


@pytest.mark.parametrize(("allowed", "possible"), GROUPS)
def test_a_partition_of_groups(ask, monkeypatch, allowed, possible):
    known = {1001: "user1", 2000: "lab", "lab": 2000, "staff": 2001}

    async def account(name):
        return PosixUser(name, 1001, 1001, (1001, 2000), "/", "/bin/sh")

    monkeypatch.setattr(slurm_facts, "find_user", account)
    monkeypatch.setattr(slurm_facts, "_look_up", known.get)
    partitions = samples.PARTITIONS["22.05"].replace("AllowGroups=ALL", f"AllowGroups={','.join(allowed)}", 1)
    assert ask(slurm(partition=partitions))["profiles"]["fixed"]["possible"] is possible


def test_a_directory_that_does_not_answer_proves_nothing(ask, monkeypatch):
    async def account(name):
        raise Internal(Text("no answer", "没有回答"))

    monkeypatch.setattr(slurm_facts, "find_user", account)
    partitions = samples.PARTITIONS["22.05"].replace("AllowGroups=ALL", "AllowGroups=staff", 1)
    assert ask(slurm(partition=partitions))["profiles"]["fixed"]["possible"] is True


def test_of_a_large_partition_not_every_node_is_listed(ask):
    line = samples.NODES["22.05"].splitlines()[1]
    nodes = "\n".join(line.replace("gpu01", f"gpu{number}") for number in range(300))
    partition = ask(slurm(node=nodes))["partitions"][0]
    assert (partition["nodes_total"], len(partition["nodes"]), partition["nodes_left_out"]) == (300, 200, 100)
    assert partition["gpus"][0]["total"] == 1200
