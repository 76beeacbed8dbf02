"""What a person may ask of Slurm: each limit by itself, which of several counts, and that nothing unknown is forbidden."""

from dataclasses import replace
from datetime import datetime, timezone

import pytest

from siflab.slurm.accounting import Accounting, parse_associations, parse_default_accounts, parse_qos, parse_tres
from siflab.slurm.inventory import take_inventory
from siflab.slurm.records import Unreadable
from siflab.slurm.rights import Person, Rights, Target
from siflab.slurm.scontrol import parse_nodes, parse_partitions, parse_reservations
from tests.unit.slurm import samples

NOW = datetime(2026, 12, 1, 5, 30, tzinfo=timezone.utc)
ENFORCED = frozenset({"associations", "limits", "qos", "safe"})
STUDENT, RESEARCHER = Person("user3", frozenset({"users"})), Person("user1", frozenset({"users", "lab"}))


def accounting(associations=samples.ASSOCIATIONS, qos=samples.QOS, enforced=ENFORCED):
    defaults = parse_default_accounts("root|root\nuser1|research\nuser2|research\nuser3|cs101\n")
    return Accounting(tuple(parse_associations(associations, "main")), parse_qos(qos), defaults, enforced)


def rights(person, partitions=samples.PARTITIONS["22.05"], reservations=samples.RESERVATIONS["22.05"], **changes):
    inventory = take_inventory(
        parse_nodes(samples.NODES["22.05"]), parse_partitions(partitions), parse_reservations(reservations), NOW
    )
    inventory = replace(inventory, reservations=tuple(_in_utc(one) for one in inventory.reservations))
    return Rights(person, inventory, accounting(**changes), NOW, frozenset({"lab", "users", "staff"}))


def _in_utc(reservation):
    """The sample's times whatever zone the test runs in."""
    return replace(
        reservation,
        start=reservation.start.replace(tzinfo=timezone.utc),
        end=reservation.end.replace(tzinfo=timezone.utc),
    )


def words(ceilings):
    return {name: (ceiling.value, ceiling.why.en) for name, ceiling in ceilings.items()}


GPU = Target("gpu-a100", "a100", 1)
CEILINGS = [
    (STUDENT, GPU, "gpus", 1, "QOS course allows one person at most 1 GPU"),
    (STUDENT, replace(GPU, qos="normal"), "gpus", 3, "account cs101 has, for all its users together, 3 GPUs"),
    (RESEARCHER, GPU, "gpus", 4, "no node of partition gpu-a100 has more than 4 a100 GPUs"),
    (RESEARCHER, replace(GPU, qos="gpu-basic"), "gpus", 2, "QOS gpu-basic allows one person at most 2 GPUs"),
    (RESEARCHER, replace(GPU, qos="gpu-basic"), "time", 14400, "QOS gpu-basic allows a job at most 4:00:00"),
    (RESEARCHER, GPU, "time", 28800, "partition gpu-a100 allows at most 8:00:00"),
    (RESEARCHER, GPU, "cpus", 32, "no node of partition gpu-a100 has more than 32 CPUs"),
    (RESEARCHER, GPU, "memory", 256000, "no node of partition gpu-a100 has more than 250G"),
    (RESEARCHER, Target("cpu", "a100", 1), "gpus", 0, "partition cpu has no a100"),
    (RESEARCHER, Target("interactive", "v100", 1), "cpus", 16, "no node of partition interactive has more than 16 CPUs"),
    (RESEARCHER, Target("interactive"), "cpus", 64, "no node of partition interactive has more than 64 CPUs"),
    (STUDENT, Target("gpu-v100", "v100", 1, reservation="lab1"), "time", 2400, "reservation lab1 ends at 2026-12-01 06:10"),
    (STUDENT, Target("cpu", reservation="cs"), "time", 3600, "reservation cs ends at 2026-12-01 07:10"),
]  # fmt: skip


@pytest.mark.parametrize(("person", "target", "field", "value", "why"), CEILINGS)
def test_how_much(person, target, field, value, why):
    found = rights(person).ceilings(target)[field]
    assert (found.value, found.why.en) == (value, why)
    assert found.why.zh != why


def qos(**limits):
    """One QOS `q` (and `p`, the partition's) in sacctmgr's order."""
    order = ("flags", "job", "node", "user", "group", "wall", "jobs")
    return "\n".join("|".join([name, *(limits.get(f"{name}_{key}", "") for key in order)]) for name in ("q", "p"))


ASSOC = (
    "main|a|||root|||||{account}|\nmain|sub|||a|||||{sub}|\n"
    "main|sub|user1|||q,r|q|{job}||{user}|{wall}\nmain|root|||||||||\n"
)
WITH_QOS = samples.PARTITIONS["22.05"].replace("QoS=N/A", "QoS=p", 1)
PRECEDENCE = [
    (qos(q_job="gres/gpu=3"), {}, 3, "QOS q allows a job"),
    (qos(q_job="gres/gpu:a100=3"), {}, 3, "QOS q allows a job"),
    (qos(q_job="gres/gpu:v100=1"), {}, 4, "no node"),
    (qos(q_node="gres/gpu=2"), {}, 2, "on each node"),
    (qos(q_group="gres/gpu=2"), {"account": "gres/gpu=1"}, 2, "QOS q has, for all"),
    (qos(p_job="gres/gpu=3", q_job="gres/gpu=1"), {}, 3, "QOS p allows a job"),
    (qos(p_job="gres/gpu=3", q_job="gres/gpu=1", q_flags="OverPartQOS"), {}, 1, "QOS q allows a job"),
    (qos(q_job="gres/gpu=3"), {"job": "gres/gpu=1"}, 3, "QOS q allows a job"),
    (qos(), {"job": "gres/gpu=1"}, 1, "account sub allows a job"),
    (qos(), {"account": "gres/gpu=2", "sub": "gres/gpu=3"}, 2, "account a has"),
    (qos(), {"user": "gres/gpu=1", "sub": "gres/gpu=3"}, 1, "account sub has"),
    (qos(q_user="gres/gpu=0"), {}, 0, "QOS q allows one person at most 0"),
]


@pytest.mark.parametrize(("qos_text", "limits", "value", "why"), PRECEDENCE)
def test_which_limit_counts(qos_text, limits, value, why):
    filled = ASSOC.format(**{"account": "", "sub": "", "job": "", "user": "", "wall": "", **limits})
    mine = rights(RESEARCHER, partitions=WITH_QOS, associations=filled, qos=qos_text)
    found = mine.ceilings(replace(GPU, account="sub", qos="q"))["gpus"]
    assert found.value == value and why in found.why.en


TIMES = [
    (qos(q_wall="01:00:00"), "", 3600),
    (qos(q_wall="01:00:00", p_wall="02:00:00"), "", 7200),
    (qos(), "00:30:00", 1800),
    (qos(q_wall="04:00:00"), "00:30:00", 14400),
    (qos(q_wall="1-00:00:00"), "", 28800),
    (qos(q_wall="1-00:00:00", q_flags="DenyOnLimit,PartitionTimeLimit"), "", 86400),
]


@pytest.mark.parametrize(("qos_text", "wall", "value"), TIMES)
def test_how_long(qos_text, wall, value):
    filled = ASSOC.format(account="", sub="", job="", user="", wall=wall)
    mine = rights(RESEARCHER, partitions=WITH_QOS, associations=filled, qos=qos_text)
    assert mine.ceilings(replace(GPU, account="sub", qos="q"))["time"].value == value


def changed(key, value, count=1):
    return samples.PARTITIONS["22.05"].replace(f"{key}=ALL", f"{key}={value}", count)


OBSTACLES = [
    (RESEARCHER, GPU, {}, []),
    (RESEARCHER, replace(GPU, account="cs101"), {}, ["account-not-yours"]),
    (RESEARCHER, replace(GPU, account="nothing"), {}, ["account-not-yours"]),
    (RESEARCHER, replace(GPU, qos="course"), {}, ["qos-not-yours"]),
    (RESEARCHER, replace(GPU, qos="nothing"), {}, ["qos-not-yours"]),
    (STUDENT, replace(GPU, qos="gpu-large"), {}, ["qos-not-yours"]),
    (RESEARCHER, Target("nowhere"), {}, ["no-such-partition"]),
    (RESEARCHER, GPU, {"partitions": samples.PARTITIONS["22.05"].replace("State=UP", "State=DRAIN")}, ["partition-closed"]),
    (RESEARCHER, GPU, {"partitions": samples.PARTITIONS["22.05"].replace("State=UP", "State=DOWN")}, []),
    (RESEARCHER, GPU, {"partitions": changed("AllowGroups", "staff")}, ["partition-group"]),
    (RESEARCHER, GPU, {"partitions": changed("AllowGroups", "staff,lab")}, []),
    (RESEARCHER, GPU, {"partitions": changed("AllowGroups", "of-the-cluster-only")}, []),
    (Person("user1"), GPU, {"partitions": changed("AllowGroups", "staff")}, []),
    (RESEARCHER, GPU, {"partitions": changed("AllowAccounts", "cs101")}, ["partition-account"]),
    (RESEARCHER, GPU, {"partitions": changed("AllowAccounts", "root")}, []),
    (RESEARCHER, GPU, {"partitions": changed("AllowAccounts", "ALL DenyAccounts=research")}, ["partition-account"]),
    (RESEARCHER, GPU, {"partitions": changed("AllowQos", "gpu-large")}, ["partition-qos"]),
    (RESEARCHER, replace(GPU, qos="gpu-large"), {"partitions": changed("AllowQos", "gpu-large")}, []),
    (RESEARCHER, replace(GPU, reservation="lab1"), {}, ["reservation-not-yours"]),
    (RESEARCHER, replace(GPU, reservation="cs"), {}, ["reservation-not-yours"]),
    (RESEARCHER, replace(GPU, reservation="maint1"), {}, ["reservation-not-yours"]),
    (RESEARCHER, replace(GPU, reservation="nothing"), {}, ["reservation-not-yours"]),
    (STUDENT, replace(GPU, reservation="lab1"), {}, []),
    (STUDENT, Target("cpu", reservation="cs"), {}, []),
    (STUDENT, replace(GPU, reservation="cs"), {}, ["reservation-not-yours"]),
    (STUDENT, replace(GPU, reservation="lab1"), {"reservations": samples.RESERVATIONS["22.05"].replace("Users=t", "Users=-t").replace("Users=user3", "Users=-user3")}, ["reservation-not-yours"]),
    (Person("nobody-knows"), replace(GPU, account="x", qos="y", reservation="cs"), {}, ["qos-not-yours", "reservation-not-yours"]),
]  # fmt: skip


@pytest.mark.parametrize(("person", "target", "changes", "codes"), OBSTACLES)
def test_what_may_not_be_used(person, target, changes, codes):
    errors = rights(person, **changes).obstacles(target)
    assert [error.code for error in errors] == codes
    assert all(error.message.en != error.message.zh for error in errors)


UNKNOWN = [
    {"enforced": None},
    {"enforced": frozenset()},
    {"enforced": frozenset({"nosteps"})},
    {"associations": "", "qos": ""},
]


@pytest.mark.parametrize("changes", UNKNOWN)
def test_what_is_not_known_or_not_enforced_forbids_nothing(changes):
    mine = rights(STUDENT, **changes)
    assert mine.obstacles(replace(GPU, account="x", qos="y")) == []
    assert mine.ceilings(GPU)["gpus"].value == 4


def test_what_slurm_hides_from_us_is_not_said_to_be_missing():
    mine = rights(STUDENT)
    for hidden, codes in (
        ({"partitions", "reservations"}, []),
        ({"jobs"}, ["no-such-partition", "reservation-not-yours"]),
    ):
        mine.accounting = replace(mine.accounting, hidden=frozenset(hidden))
        assert [one.code for one in mine.obstacles(Target("secret", reservation="secret"))] == codes


def test_without_slurm_there_is_no_limit():
    mine = Rights(STUDENT, None, None, NOW)
    assert mine.obstacles(replace(GPU, reservation="x")) == [] and mine.ceilings(GPU) == {}
    assert mine.accounts == [] and mine.reservations == []


def test_an_association_of_one_partition():
    text = "main|a|||root||||||\nmain|a|user1|gpu-a100||q|q|gres/gpu=1|||\n"
    defaults = {"user1": "a"}
    mine = rights(RESEARCHER, associations=text, qos=qos())
    mine.accounting = replace(mine.accounting, default_accounts=defaults)
    assert mine.obstacles(GPU) == [] and mine.ceilings(GPU)["gpus"].value == 1
    (error,) = mine.obstacles(Target("cpu"))
    assert (error.field, error.code) == ("account", "account-not-yours") and "in partition cpu" in error.message.en


def test_the_default_stands_first():
    text = samples.ASSOCIATIONS + "main|cs101|user1|||normal|||||\n"
    assert rights(RESEARCHER, associations=text).accounts == ["research", "cs101"]


@pytest.mark.parametrize("text", ["a|b\n", "sacctmgr: error: not running\n"])
def test_what_is_no_answer_is_none(text):
    for parse in (parse_associations, parse_qos, parse_default_accounts):
        if parse is parse_default_accounts and text.count("|") == 1:
            continue
        with pytest.raises(Unreadable):
            parse(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cpu=10,gres/gpu=2,mem=100G", {"cpu": 10, "gres/gpu": 2, "mem": 102400}),
        ("gres/gpu:a100=4,node=2", {"gres/gpu:a100": 4, "node": 2}),
        ("mem=1500M,cpu=many,", {"mem": 1500}),
        ("", {}),
    ],
)
def test_limits_by_tres(text, found):
    assert parse_tres(text) == found
