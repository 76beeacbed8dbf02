"""Extending a session: each cap with its name, never twice, never another's job."""

import asyncio
import logging
from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from siflab.config import parse_site
from siflab.config.session_rules import ExtensionSite
from siflab.errors import Conflict, Invalid, NotFound, SlurmRefused, SlurmUnreachable
from siflab.slurm.records import SEPARATOR
from siflab.slurm.running_time_limits import PartitionLimit, QosLimit, Reservation, RunningJob
from siflab.slurm.states import state_info
from siflab.slurm.time import parse_time
from siflab_spawner.lifetime import extension
from siflab_spawner.lifetime.extension_caps import caps_of
from siflab_spawner.lifetime.extension_handlers import read_request
from siflab_spawner.start.mark import mark
from siflab_spawner.state import SessionState
from tests.unit.spawner.conftest import SITE, FakeSlurm, said

HOUR = 3600
RULE = {"step": "1:00:00", "max_total": "4:00:00", "times": 2}
START = datetime(2026, 12, 1, 10, 0).astimezone()


def job(**changes):
    fields = {
        "job_id": "12", "user": "user1", "state": state_info("RUNNING"), "time_limit": HOUR, "start": START,
        "end": START + timedelta(hours=1), "partition": "cpu", "qos": "normal", "account": "lab", "reservation": "",
        "node": "gpu02", "comment": "",
    }  # fmt: skip
    return RunningJob(**{**fields, **changes})


def reservation(name="other", begins=2.0, ends=5.0, nodes="gpu[01-02]", flags=("MAINT",)):
    return Reservation(name, START + timedelta(hours=begins), START + timedelta(hours=ends), nodes, frozenset(flags))


NO_LIMIT = PartitionLimit(None, "")
CAPS = [
    ({}, NO_LIMIT, [], {}, {}, 10, "this site"),
    ({}, PartitionLimit(8 * HOUR, ""), [], {}, {}, 8, "partition cpu"),
    ({}, PartitionLimit(8 * HOUR, ""), [], {"normal": QosLimit(None, frozenset({"PartitionTimeLimit"}))}, {}, 10, "site"),
    ({}, NO_LIMIT, [], {"normal": QosLimit(3 * HOUR, frozenset())}, {}, 3, "QOS normal"),
    ({}, PartitionLimit(None, "part"), [], {"normal": QosLimit(3 * HOUR, frozenset()),
                                            "part": QosLimit(6 * HOUR, frozenset())}, {}, 6, "QOS part"),
    ({}, PartitionLimit(None, "part"), [], {"normal": QosLimit(3 * HOUR, frozenset({"OverPartQOS"})),
                                            "part": QosLimit(2 * HOUR, frozenset())}, {}, 3, "QOS normal"),
    ({}, NO_LIMIT, [], {"normal": QosLimit(5 * HOUR, frozenset())}, {("lab", ""): 2 * HOUR}, 5, "QOS normal"),
    ({}, NO_LIMIT, [], {}, {("lab", ""): 2 * HOUR, ("else", ""): HOUR}, 2, "account lab"),
    ({}, NO_LIMIT, [], {}, {("lab", ""): 2 * HOUR, ("lab", "cpu"): 4 * HOUR}, 4, "account lab"),
    ({"reservation": "mine"}, NO_LIMIT, [reservation("mine", -1, 3)], {}, {}, 3, "reservation mine ends"),
    ({}, NO_LIMIT, [reservation()], {}, {}, 2, "maintenance other begins on node gpu02"),
    ({}, NO_LIMIT, [reservation(flags=())], {}, {}, 2, "reservation other begins"),
    ({}, NO_LIMIT, [reservation(nodes="gpu01")], {}, {}, 10, "this site"),
    ({}, NO_LIMIT, [reservation(begins=-2)], {}, {}, 10, "this site"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "partition", "reservations", "qos", "associations", "hours", "words"), CAPS)
def test_each_cap(changes, partition, reservations, qos, associations, hours, words):
    rule = ExtensionSite(step="1:00:00", max_total="10:00:00")
    cap = min(caps_of(rule, job(**changes), partition, reservations, qos, associations), key=lambda one: one.total)
    assert cap.total == hours * HOUR
    assert words in cap.why.en and cap.why.zh != cap.why.en


class Cluster(FakeSlurm):
    """One job, whose limit can be changed."""

    def __init__(self, **changes):
        super().__init__(squeue=self.squeue, scontrol=self.scontrol, sacctmgr=said("", name="sacctmgr"))
        self.limit, self.refusal, self.record = 600, None, None
        self.job = {"user": "user1", "state": "RUNNING", "comment": mark("here", "user1", "", "s1"), **changes}

    def __hash__(self):
        return id(self)

    def squeue(self, argv):
        end = START + timedelta(seconds=self.limit)
        shown = [moment.strftime("%Y-%m-%dT%H:%M:%S") for moment in (START, end)]
        limit = f"{self.limit // 60}:00"
        fields = ["12", self.job["user"], self.job["state"], limit, *shown, "cpu", "normal", "lab", "(null)", "cpu01"]
        return said(SEPARATOR.join([*fields, self.job["comment"]]) + "\n")

    def scontrol(self, argv):
        if argv[1] == "update":
            if self.refusal is None:
                self.limit = parse_time(argv[-1].removeprefix("TimeLimit="))
            return self.refusal or said(name="scontrol")
        if "config" in argv:
            return said("ClusterName             = Alpha\n", name="scontrol")
        if "partition" in argv:
            return said("PartitionName=cpu QoS=N/A MaxTime=08:00:00\n", name="scontrol")
        return said("No reservations in the system\n", name="scontrol")

    @property
    def updates(self):
        return [argv for argv in self.named("scontrol") if argv[1] == "update"]


@pytest.fixture(autouse=True)
def account(monkeypatch):
    async def find(name):
        return SimpleNamespace(name=name, uid=1001)

    async def groups(spawner):
        return ["students"]

    monkeypatch.setattr(extension, "find_user", find)
    monkeypatch.setattr(extension, "group_names", groups)


def spawner_of(cluster, rule=RULE, **changes):
    site = parse_site({**SITE, "session": {"extension": rule} if rule else {}})
    session = SessionState(submit_id="s1", job_id="12", claimed_at=1.0, ready_at=2.0, **changes)

    async def look(job_id=""):
        return None

    def reading(job_id):
        return SimpleNamespace(record=cluster.record)

    return SimpleNamespace(
        site=site, slurm=cluster, session=session, user=SimpleNamespace(name="user1"), name="", persist=lambda: None,
        log=logging.getLogger("test"), _log_name="user1:", watcher=SimpleNamespace(look=look, reading=reading),
    )  # fmt: skip


def extend(spawner, seconds, seen=None):
    return asyncio.run(extension.extend(spawner, seconds, seen, "user1"))


def test_a_session_is_extended():
    cluster = Cluster()
    spawner = spawner_of(cluster)
    after = extend(spawner, 1800)
    assert cluster.limit == 600 + 1800 and spawner.session.extensions == 1
    assert after.ends_at == START + timedelta(seconds=2400) and after.used == 1 and after.why_not is None
    assert cluster.updates == [["scontrol", "update", "JobId=12", "TimeLimit=0:40:00"]]


def test_a_request_that_is_sent_twice_is_carried_out_once():
    cluster = Cluster()
    spawner = spawner_of(cluster)
    seen = START + timedelta(seconds=600)

    async def both():
        return await asyncio.gather(*(extension.extend(spawner, 1800, seen, "user1") for _ in range(2)))

    first, second = asyncio.run(both())
    assert len(cluster.updates) == 1 and spawner.session.extensions == 1
    assert first.ends_at == second.ends_at == START + timedelta(seconds=2400)


def test_nobody_passes_those_who_wait():
    """Who comes just when the first is done has the same lock as those who waited for it."""
    cluster = Cluster()
    spawner = spawner_of(cluster, {**RULE, "times": 2})
    answer = cluster.arun

    async def slowly(argv, **told):
        for _ in range(3):
            await asyncio.sleep(0)
        return await answer(argv, **told)

    async def late(turns):
        for _ in range(turns):
            await asyncio.sleep(0)
        return await extension.extend(spawner, 60, None, "user1")

    async def many():
        return await asyncio.gather(*(late(turns) for turns in range(200)), return_exceptions=True)

    cluster.arun = slowly
    answers = asyncio.run(many())
    assert len(cluster.updates) == 2 and [type(one) for one in answers].count(Conflict) == 198


@pytest.mark.parametrize(("ours", "asked"), [(None, "cluster=alpha"), ("beta", "cluster=beta")])
def test_only_this_cluster_s_associations_count(ours, asked):
    cluster = Cluster()
    spawner = spawner_of(cluster)
    spawner.site = parse_site({**SITE, "slurm": {"cluster": ours}, "session": {"extension": RULE}})
    extend(spawner, 60)
    questions = [argv for argv in cluster.named("sacctmgr") if "association" in argv]
    assert questions and all(asked in argv for argv in questions)


def test_seconds_become_whole_minutes():
    cluster = Cluster()
    extend(spawner_of(cluster), 61)
    assert cluster.limit == 600 + 120


REFUSED = [
    (RULE, {}, {}, 7200, Invalid, "1:00:00 at a time"),
    ({**RULE, "max_total": "0:30:00"}, {}, {}, 1800, Invalid, "this site allows 0:30:00 in all"),
    ({**RULE, "max_total": "0:10:00"}, {}, {}, 60, Conflict, "this site allows 0:10:00 in all"),
    (RULE, {}, {"extensions": 2}, 60, Conflict, "2 times"),
    ({**RULE, "partitions": ["gpu"]}, {}, {}, 60, Conflict, "partition cpu"),
    ({**RULE, "groups": ["staff"]}, {}, {}, 60, Conflict, "group"),
    (None, {}, {}, 60, NotFound, "does not let"),
    (RULE, {"user": "user2"}, {}, 60, Conflict, "mark"),
    (RULE, {"comment": "siflab:here:user1::other"}, {}, 60, Conflict, "mark"),
    (RULE, {"state": "COMPLETING"}, {}, 60, Conflict, "does not run"),
]


@pytest.mark.parametrize(("rule", "job_changes", "session", "seconds", "error", "words"), REFUSED)
def test_what_is_refused(rule, job_changes, session, seconds, error, words):
    cluster = Cluster(**job_changes)
    with pytest.raises(error) as raised:
        extend(spawner_of(cluster, rule, **session), seconds)
    assert words in raised.value.message.en and raised.value.message.zh
    assert cluster.updates == []


def test_slurm_that_refuses_says_what_right_is_missing():
    cluster = Cluster()
    cluster.refusal = said("", "Access/permission denied for job 12", 1, "scontrol")
    spawner = spawner_of(cluster)
    with pytest.raises(SlurmRefused, match="AdminLevel=Operator"):
        extend(spawner, 60)
    assert spawner.session.extensions == 0


@pytest.mark.parametrize(
    "answer",
    [said("", "Unable to contact slurm controller", 1), said("garbage", name="sacctmgr"), said("", "what?", 2)],
)
def test_without_an_answer_about_the_caps_nothing_is_done(answer):
    cluster = Cluster()
    cluster.answers["sacctmgr"] = answer
    with pytest.raises(SlurmUnreachable):
        extend(spawner_of(cluster), 60)
    assert cluster.updates == []


def test_a_page_that_looks_asks_slurm_once_a_minute():
    cluster = Cluster()
    spawner = spawner_of(cluster)
    cluster.record = SimpleNamespace(time_limit=1200, end=START + timedelta(seconds=1200))
    answers = [asyncio.run(extension.possible(spawner)).as_dict() for _ in range(3)]
    assert len(cluster.calls) == 6
    assert answers[2]["allowed"] is True and answers[2]["longest_seconds"] == HOUR and answers[2]["times"] == 2
    assert answers[2]["ends_at"] == cluster.record.end.isoformat(), "the time is the watcher's"


@pytest.mark.parametrize("raw", [b"", b"[]", b'{"seconds": 0}', b'{"seconds": "60"}', b'{"seconds": true}',
                                 b'{"seconds": 60, "ends_at": "soon"}', b'{"seconds": 60, "ends_at": "2026-12-01T10:00:00"}',
                                 b'{"seconds": 60, "ends_at": "9999-12-31T00:00:00Z"}',
                                 b'{"seconds": 60, "user": "x"}', b'{"seconds": 60}' + b" " * 2000])  # fmt: skip
def test_what_is_no_request(raw):
    with pytest.raises(Invalid):
        read_request(raw)


def test_a_request():
    assert read_request(b'{"seconds": 60, "ends_at": null}') == (60, None)
    assert read_request(b'{"seconds": 60, "ends_at": "2026-12-01T10:00:00Z"}')[1].utcoffset() == timedelta(0)
