"""Idle sessions: limits by what was asked for, what the culler is given, what the person is told."""

import asyncio
import json
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest
from jupyterhub.proxy import ConfigurableHTTPProxy

from siflab.config import SiteError, parse_site
from siflab_spawner import metrics
from siflab_spawner.lifetime import idle
from siflab_spawner.lifetime.culler import Arbiter
from siflab_spawner.notices import drop_notice, last_notice
from siflab_spawner.state import SessionState
from tests.unit.spawner.conftest import SITE

HOUR = 3600


def site(**rule):
    return parse_site({**SITE, "session": {"idle": rule}} if rule else SITE)


LIMITS = [
    ({"profile": "cpu"}, 2), ({"profile": "one"}, 1), ({"profile": "one", "gpus": "0"}, 2), ({"profile": "one", "gpus": ""}, 1),
    ({"profile": "cpu", "gpus": 2}, 1), ({"profile": "gone"}, 2), ({}, 2), (None, 2), (["one"], 2),
]  # fmt: skip


@pytest.mark.parametrize(("options", "hours"), LIMITS)
def test_the_limit_of_a_server(options, hours):
    rules = site(after="2:00:00", gpu_sessions="1:00:00")
    assert idle.limit_of(rules, rules.session.idle, options) == hours * HOUR
    arbiter = Arbiter(rules, rules.session.idle)
    server = {"user_options": options}
    for inactive, stopped in (
        (timedelta(hours=hours, seconds=-1), False),
        (timedelta(hours=hours), True),
        (None, False),
    ):
        assert arbiter(inactive=inactive, inactive_limit=1, server=server) is stopped


@pytest.mark.parametrize(
    ("options", "gpus", "kept"),
    [({}, 1, {"gpus": 1}), ({"profile": "key of a wrapper"}, 2, {"profile": "key of a wrapper", "gpus": 2}),
     ({"profile": "one"}, 1, {"profile": "one"}), ({"profile": "cpu"}, 0, {"profile": "cpu"}), ({}, 0, {})],
)  # fmt: skip
def test_the_culler_learns_of_gpus_that_the_options_do_not_name(options, gpus, kept):
    rules = site(after="2:00:00", gpu_sessions="1:00:00")
    owner = SimpleNamespace(user_options=options, orm_spawner=SimpleNamespace(user_options=options))
    idle.note_gpus(SimpleNamespace(site=rules, owner=owner), gpus)
    assert owner.user_options == owner.orm_spawner.user_options == kept
    assert idle.limit_of(rules, rules.session.idle, owner.user_options) == (1 if gpus else 2) * HOUR


@pytest.mark.parametrize(
    ("rule", "looks"),
    [({"after": "1:00:00"}, 300), ({"after": "0:12:00"}, 120), ({"after": "0:12:00", "interval": "0:01:00"}, 60),
     ({"after": "2:00:00", "gpu_sessions": "0:06:00"}, 60)],
)  # fmt: skip
def test_how_often_use_is_looked_at(rule, looks):
    env = idle.activity_environment(site(**rule))
    assert json.loads(env["SIFLAB_ACTIVITY"])["interval"] == looks
    assert env["JUPYTERHUB_ACTIVITY_INTERVAL"] == "0", "the server's own reports count an open page as use"


def test_use_is_reported_where_nothing_is_culled():
    assert json.loads(idle.activity_environment(site())["SIFLAB_ACTIVITY"])["interval"] == 300
    assert idle.services(site()) == [] and idle.roles(site()) == []


def test_an_interval_that_is_too_long_is_refused():
    with pytest.raises(SiteError, match="half"):
        site(after="0:10:00", gpu_sessions="0:05:00", interval="0:03:00")


def test_the_service(monkeypatch):
    monkeypatch.setenv("SIFLAB_SITE", "/etc/siflab/site.yaml")
    rules = site(after="1:00:00")
    (service,), (role,) = idle.services(rules, "/data/ssl"), idle.roles(rules)
    assert service["command"][1:3] == ["-m", "siflab_spawner.lifetime.culler"]
    assert "--internal-certs-location=/data/ssl" in service["command"]
    assert service["environment"]["SIFLAB_SITE"] == "/etc/siflab/site.yaml"
    assert role["services"] == [service["name"]] and "admin:users" not in role["scopes"]


def spawner_of(minutes, gpus=0, rule=None, ready=2.0):
    last = None if minutes is None else (datetime.now(timezone.utc) - timedelta(minutes=minutes)).replace(tzinfo=None)
    owner = SimpleNamespace(orm_spawner=SimpleNamespace(last_activity=last))
    session = SessionState(submit_id="s", job_id="7", ready_at=ready, facts={"resources": {"gpus": gpus}})
    return SimpleNamespace(
        site=site(**(rule or {"after": "1:00:00"})), owner=owner, session=session, user=SimpleNamespace(name="user1"),
        name="", _log_name="user1", log=SimpleNamespace(info=lambda *_: None),
    )  # fmt: skip


HALF = {"after": "1:00:00", "gpu_sessions": "0:30:00"}
TOLD = [
    ((61,), {}, "no kernel was busy, and nothing was typed"),
    ((61, 1), {}, "no kernel was busy, its GPUs were not used, and"),
    ((50,), {}, None),
    ((None,), {}, None),
    ((61,), {"ready": 0.0}, None),
    ((40, 1), {"rule": HALF}, "this site allows 0:30:00"),
    ((40, 0), {"rule": HALF}, None),
]


@pytest.mark.parametrize(("arguments", "more", "words"), TOLD)
def test_what_the_person_is_told(arguments, more, words):
    spawner = spawner_of(*arguments, **more)
    drop_notice("user1", "")
    with idle.told(spawner):
        spawner.session = SessionState()  # JupyterHub clears it
    notice = last_notice("user1", "")
    assert (notice is None) if words is None else (words in notice.en and "闲置" in notice.zh)


def test_the_time_begins_when_the_server_is_ready():
    spawner = spawner_of(600)
    idle.began(spawner)
    assert idle.why_stopped(spawner) is None


def test_the_proxy_does_not_say_who_is_active(monkeypatch):
    async def routes(self):
        return {"/user/u/": {"routespec": "/user/u/", "data": {"user": "u", "last_activity": "2026-12-01T00:00:00Z"}}}

    monkeypatch.setattr(ConfigurableHTTPProxy, "get_all_routes", routes)
    proxy = idle.QuietProxy.__new__(idle.QuietProxy)
    assert asyncio.run(idle.QuietProxy.get_all_routes(proxy)) == {
        "/user/u/": {"routespec": "/user/u/", "data": {"user": "u"}}
    }


def test_idle_stops_are_counted():
    before = metrics.IDLE._value.get()
    with idle.told(spawner_of(61)):
        pass
    assert metrics.IDLE._value.get() == before + 1
