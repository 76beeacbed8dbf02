"""Named servers, an admin's actions on another user's servers, names with odd characters: each gets its own job, and only
that one."""

from urllib.parse import quote

import pytest

from tests.cluster.hub import USERS, Blocker, Hub, site, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[:2]
CONFIG = """
c.Authenticator.admin_users = {"an-admin"}
c.JupyterHub.admin_access = True
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    data = site()
    data["profiles"]["v100"] = {
        "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1,
        "memory": "1G", "time": "0:30:00",
    }  # fmt: skip
    one = Hub(tmp_path_factory.mktemp("hub"), data, CONFIG)
    one.start()
    yield one
    one.stop()


@pytest.fixture
def admin(hub):
    """The Hub's REST API as an admin who is a person."""
    hub.add_user("an-admin")
    token = hub.api("POST", "users/an-admin/tokens", json={"note": "test"}).json()["token"]
    before = hub.session.headers["Authorization"]
    hub.session.headers["Authorization"] = f"token {token}"
    yield hub
    hub.session.headers["Authorization"] = before


def test_two_named_servers_at_once_and_each_stops_alone(hub):
    names = ["one", "two"]
    for name in names:
        hub.spawn(ALICE, name, profile="cpu")
    for name in names:
        hub.wait_ready(ALICE, name)
    jobs = {job["comment"].split(":")[3]: job["id"] for job in hub.jobs(ALICE)}
    assert set(jobs) == set(names)
    for name in names:
        assert hub.notebook(ALICE, name=name).json()["kernels"] == 0
    hub.stop_server(ALICE, "one")
    hub.wait_stopped(ALICE, "one")
    assert [job["id"] for job in hub.jobs(ALICE)] == [jobs["two"]]
    assert hub.is_ready(ALICE, "two") and hub.notebook(ALICE, name="two").status_code == 200
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE, "two")
    assert [job["id"] for job in hub.jobs(ALICE)] == [jobs["two"]]
    hub.stop_server(ALICE, "two")
    hub.wait_stopped(ALICE, "two")
    assert hub.jobs(ALICE) == []


def test_an_admin_starts_and_stops_another_users_server(admin):
    """The job is the user's, not the admin's."""
    admin.spawn(BOB, "for-bob", profile="cpu")
    admin.wait_ready(BOB, "for-bob")
    (job,) = admin.jobs()
    assert job["user"] == BOB and job["comment"].startswith(f"siflab:{admin.site['name']}:{BOB}:for-bob:")
    me = admin.notebook(BOB, "api/me", name="for-bob").json()
    assert me["identity"]["username"] == BOB
    admin.stop_server(BOB, "for-bob")
    admin.wait_stopped(BOB, "for-bob")
    assert admin.jobs() == []


ODD = ["a-0", "..", "a/b", "a b", "x;id", "$(id)", "服务器", "%2e%2e", "-x", "A:B|c"]


def test_odd_server_names_are_refused_or_are_one_session_each(hub):
    """JupyterHub itself refuses most of these; what it lets through must become one job with one mark, and stop."""
    hub.add_user(ALICE)
    started = []
    for name in ODD:
        answer = hub.api("POST", f"users/{ALICE}/servers/{quote(name, safe='')}", json={"profile": "v100"})
        assert answer.status_code in (201, 202, 400) or name == "..", (name, answer.text)
        if answer.status_code in (201, 202):
            started.append(name)
        if len(started) == 3:
            break
    assert "a-0" in started
    wait_for(lambda: len(hub.jobs(ALICE)) == len(started), 30, "one job each", hub.told)
    comments = [job["comment"] for job in hub.jobs(ALICE)]
    assert len(set(comments)) == len(started) and all(
        comment.isascii() and comment.count(":") == 4 for comment in comments
    )
    for name in started:
        hub.api("DELETE", f"users/{ALICE}/servers/{quote(name, safe='')}")
    wait_for(lambda: hub.jobs(ALICE) == [], 60, "all are gone", hub.told)


def test_a_user_name_that_is_no_account_starts_nothing(hub):
    for name in ("no-such-user", "用户", "o'brien"):
        hub.api("POST", f"users/{quote(name)}")
        answer = hub.api("POST", f"users/{quote(name)}/server", json={"profile": "cpu"})
        assert answer.status_code in (400, 404, 500), answer.text
        assert answer.status_code == 404 or "account" in answer.json()["message"], answer.text
    assert hub.jobs() == []


def test_deleted_while_it_is_pending(hub):
    """S6: the server and its name are removed, and no job is left."""
    with Blocker():
        hub.spawn(ALICE, "doomed", profile="v100")
        wait_for(lambda: [job["state"] for job in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        answer = hub.api("DELETE", f"users/{ALICE}/servers/doomed", json={"remove": True})
        assert answer.status_code in (202, 204), answer.text
        wait_for(lambda: hub.jobs(ALICE) == [], 60, "gone", hub.told)
        wait_for(lambda: hub.server(ALICE, "doomed") == {}, 60, "removed", hub.told)
