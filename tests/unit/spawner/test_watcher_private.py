"""Where Slurm hides the jobs of others from the Hub's account: noticed, said, and asked around at a limited rate."""

import asyncio
import json
import logging

import pytest

from siflab.errors import Internal
from siflab.slurm.execute import Completed, PosixUser
from siflab.text import Text
from siflab_spawner import SingularitySlurmSpawner
from siflab_spawner.start.mark import Ours
from siflab_spawner.watch import privacy_at_start
from siflab_spawner.watch.pace import Pace, Turns
from siflab_spawner.watch.privacy import sees_all_jobs
from siflab_spawner.watch.watcher import Watcher

from .conftest import LOG, SITE, USERS, Clock, FakeSlurm, find, rest, row, said

pytestmark = pytest.mark.asyncio
HUB = PosixUser("hub", 990, 990, (990,), "/", "/bin/sh")
CONFIG = "Configuration data as of now\nPrivateData             = {}\nSlurmUser               = slurm({})\n"


def config(private="jobs", slurm_user=64030):
    return said(CONFIG.format(private, slurm_user), name="scontrol")


AWAY = said(stderr="Unable to contact slurm controller", code=1)
ACCOUNTS = {
    "root asks nothing": (PosixUser("root", 0, 0, (), "/root", "/bin/sh"), AWAY, AWAY, True),
    "nothing is hidden": (HUB, config("none"), AWAY, True),
    "other things are hidden": (HUB, config("accounts,usage,users"), AWAY, True),
    "an ordinary account": (HUB, config("accounts,jobs"), said("None\n"), False),
    "unknown to accounting": (HUB, config(), said(""), False),
    "all is hidden": (HUB, config("all"), said("None\n"), False),
    "an operator": (HUB, config(), said("Operator\n"), True),
    "an administrator": (HUB, config(), said("Administrator\n"), True),
    "SlurmUser": (HUB, config(slurm_user=990), said("None\n"), True),
    "slurmctld is away": (HUB, AWAY, AWAY, None),
    "slurmdbd is away": (HUB, config(), AWAY, None),
    "an answer without the word": (HUB, said("SlurmUser = slurm(1)\n"), AWAY, None),
}


@pytest.mark.parametrize(("account", "shown", "level", "expected"), ACCOUNTS.values(), ids=ACCOUNTS)
async def test_whether_the_hubs_account_sees_all_jobs(account, shown, level, expected):
    slurm = FakeSlurm(scontrol=shown, sacctmgr=level)
    assert await sees_all_jobs(slurm, account) is expected
    if account.uid == 0:
        assert slurm.calls == []


class PrivateSlurm:
    """Shows each user their own jobs, as Slurm with PrivateData=jobs does. `jobs`: state by id by user."""

    cluster = None

    def __init__(self, jobs):
        self.jobs, self.calls, self.broken = jobs, [], set()

    async def arun(self, argv, *, user=None, stdin=None, cwd=None, timeout=None):
        self.calls.append((argv[0], user and user.name))
        mine = self.jobs.get(user.name, {}) if user else {}
        if user and user.name in self.broken:
            return AWAY
        if argv[0] == "squeue":
            ids = argv[-1].split(",")
            if len(ids) == 1 and ids[0] not in mine:
                return said(stderr="slurm_load_jobs error: Invalid job id specified", code=1)
            return said("".join(row(job, mine[job], user.name, uid=user.uid) for job in ids if job in mine))
        if argv[0] == "scontrol":
            return said(stderr="slurm_load_jobs error: Invalid job id specified", code=1)
        return said("")


def private_watcher(jobs, sees_all=False, pace=None, find=find):
    slurm, clock = PrivateSlurm(jobs), Clock()
    watcher = Watcher(slurm, LOG, pace or Pace(private_a_minute=60), clock, find)
    watcher._run, watcher.sees_all, watcher.is_root = rest, sees_all, False
    for user, mine in jobs.items():
        for job in mine:
            watcher.follow(job, lambda: None, starting=False, ours=Ours(user))
    return watcher, slurm, clock


async def test_each_user_is_asked_as_that_user():
    watcher, slurm, _ = private_watcher({"user1": {"1": "RUNNING", "2": "PENDING"}, "user2": {"3": "RUNNING"}})
    await watcher.look()
    assert sorted(slurm.calls) == [("squeue", "user1"), ("squeue", "user2")]
    assert [watcher.reading(job).kind for job in "123"] == ["running", "pending", "running"]


async def test_the_rate_is_limited_and_everybody_gets_a_turn():
    jobs = {f"user{n}": {str(n): "RUNNING"} for n in range(1, 41)}
    watcher, slurm, clock = private_watcher(jobs, pace=Pace(private_a_minute=12, running=5.0))
    for job in ("1", "2"):
        watcher.follow(job, lambda: None, starting=True, ours=Ours(f"user{job}"))
    began = clock.now
    while clock.now < began + 600:
        await watcher.look()
        clock.now += 1.0
    assert 110 <= len(slurm.calls) <= 10 * 12 + 2, "12 a minute for ten minutes"
    asked = [user for _, user in slurm.calls]
    assert {asked.count(user) for user in jobs} <= {2, 3, 4} and watcher.sessions() == {"running": 40}


async def test_who_is_waited_for_goes_first():
    jobs = {f"user{n}": {str(n): "RUNNING"} for n in range(1, 41)}
    watcher, slurm, _ = private_watcher(jobs, pace=Pace(private_a_minute=6))
    await watcher.look()
    assert watcher.reading("37").kind == "unknown" and len(slurm.calls) == 1
    await watcher.look("37")
    assert watcher.reading("37").kind == "running" and slurm.calls[1:] == [("squeue", "user37")]


async def test_one_users_trouble_is_not_anothers():
    watcher, slurm, _ = private_watcher({"user1": {"1": "RUNNING"}, "user2": {"2": "RUNNING"}})
    slurm.broken.add("user1")
    await watcher.look()
    assert [watcher.reading(job).kind for job in "12"] == ["unknown", "running"] and watcher.failures == 0
    slurm.broken.add("user2")
    watcher._turns = Turns(60, Clock())
    await watcher.look()
    assert watcher.reading("2").kind == "running" and watcher.failures == 1


async def test_a_job_that_its_owner_does_not_see_any_more_has_ended():
    watcher, slurm, clock = private_watcher({"user1": {"1": "RUNNING"}})
    await watcher.look()
    del slurm.jobs["user1"]["1"]
    clock.now += 60
    await watcher.look()
    assert watcher.reading("1").outcome.state.name == "GONE"
    assert {user for _, user in slurm.calls} == {"user1"}, "accounting and slurmctld are asked as the owner too"


async def test_a_hub_that_cannot_act_as_a_user_knows_nothing_of_their_job():
    async def refuse(name):
        raise Internal(Text("no account", "没有账户"))

    watcher, slurm, _ = private_watcher({"user1": {"1": "RUNNING"}}, find=refuse)
    await watcher.look()
    assert watcher.reading("1").kind == "unknown" and watcher.failed == {"not-as-user": 1} and slurm.calls == []


async def test_a_hidden_job_is_noticed_while_the_hub_runs(caplog):
    """PrivateData came later, or the account lost its right: a job that only its owner sees has not ended."""
    caplog.set_level(logging.WARNING)
    watcher, slurm, clock = private_watcher({"user1": {"1": "RUNNING"}, "user2": {"2": "PENDING"}}, sees_all=True)
    slurm_arun, shown = slurm.arun, row("1") + row("2", "PENDING", "user2", uid=1002)

    async def seen(argv, **kwargs):
        return said(shown) if argv[0] == "squeue" else await slurm_arun(argv, **kwargs)

    slurm.arun = seen
    await watcher.look()
    assert [watcher.reading(job).kind for job in "12"] == ["running", "pending"]
    slurm.arun = slurm_arun
    await watcher.look()
    assert [watcher.reading(job).kind for job in "12"] == ["running", "pending"]
    assert watcher.sees_all is False and caplog.text.count("adminlevel=Operator") == 1
    clock.now += 60
    await watcher.look()
    assert slurm.calls[-2:] == [("squeue", "user1"), ("squeue", "user2")]


async def test_it_is_said_when_the_watcher_begins(caplog, monkeypatch):
    monkeypatch.setattr("siflab_spawner.watch.watcher.sees_all_jobs", sees_all_jobs)
    monkeypatch.setattr("siflab_spawner.watch.privacy.os.geteuid", lambda: 990)
    monkeypatch.setattr("siflab_spawner.watch.privacy._name_of", lambda uid: "hub")
    slurm = FakeSlurm(scontrol=[AWAY, config()], sacctmgr=said("None\n"), squeue=Completed(("squeue",), 124, "", ""))
    clock = Clock()
    watcher = Watcher(slurm, LOG, Pace(), clock, find)
    watcher._run = rest
    watcher.follow("1", lambda: None, starting=True, ours=Ours("user1"))
    await watcher.look()
    assert watcher.sees_all is None and "Operator" not in caplog.text
    for _ in range(3):
        clock.now += 60
        await watcher.look()
    assert watcher.sees_all is False and caplog.text.count("adminlevel=Operator") == 1
    assert slurm.calls[-1][1] == USERS["user1"]
    assert len(slurm.named("sacctmgr")) == 1 and "where name=hub set adminlevel" in caplog.text


class App:
    """A Hub that has read its configuration."""

    log, spawner_class = LOG, SingularitySlurmSpawner

    def __init__(self, site_file):
        self.config = {"SingularitySlurmSpawner": {"site_file": str(site_file)}}


@pytest.mark.parametrize(("uid", "told"), [(990, 1), (0, 0)])
async def test_it_is_said_when_the_hub_starts(caplog, monkeypatch, tmp_path, uid, told):
    file = tmp_path / "site.yaml"
    file.write_text(json.dumps(SITE))
    monkeypatch.setattr("siflab_spawner.watch.privacy.os.geteuid", lambda: uid)
    monkeypatch.setattr("siflab_spawner.watch.privacy._name_of", lambda uid: "hub")
    slurm = FakeSlurm(scontrol=config(), sacctmgr=said("None\n"))
    monkeypatch.setattr(privacy_at_start, "Slurm", lambda *args, **kwargs: slurm)
    privacy_at_start._at_start(App(file))
    privacy_at_start._at_start(App(tmp_path / "missing.yaml"))
    await asyncio.gather(*privacy_at_start._running)
    assert caplog.text.count("adminlevel=Operator") == told
