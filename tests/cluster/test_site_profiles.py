"""SiteProfilesSpawner: a server on the Hub's host and sessions in Slurm from one form, through the Hub."""

import sys
from pathlib import Path

import pytest
import requests

from tests.cluster.hub import USERS, Blocker, Hub, site, wait_for, why_not
from tests.cluster.kernel import run_code

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
pytest.importorskip("wrapspawner")
ALICE, BOB = USERS[:2]
HERE = Path(sys.executable).parent
CONFIG = f"""
c.JupyterHub.spawner_class = "siflab_spawner.wrapped.site_profiles.SiteProfilesSpawner"
c.LocalProcessSpawner.cmd = ["{HERE}/jupyterhub-singleuser"]
c.LocalProcessSpawner.env_keep = ["PATH"]
c.LocalProcessSpawner.start_timeout = 77
def hook(spawner):
    spawner.environment = {{**spawner.environment, "OF_THE_HOOK": "here"}}
c.Spawner.pre_spawn_hook = hook
c.Spawner.environment = {{"OF_THE_SITE": "here"}}
"""


def data():
    found = site()
    found["profiles"]["v100"] = {
        "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1,
        "memory": "1G", "time": "0:30:00",
    }  # fmt: skip
    found["spawners"] = {
        "on-hub": {"title": {"en": "On the Hub's host", "zh": "在 Hub 主机上"}, "description": "<i>small</i>"},
        "staff-hub": {"title": "For staff", "groups": ["staff"]},
    }
    return found


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    one = Hub(tmp_path_factory.mktemp("hub"), data(), CONFIG)
    one.start()
    yield one
    for user in (ALICE, BOB):
        one.stop_server(user)
    one.stop()


REFUSED = [
    ({"profile": "no-such"}, "no-such"),
    ({"profile": "staff-hub"}, "staff-hub"),
    ({"profile": "staff"}, "staff"),
    ({"profile": "on-hub", "gpus": 1}, "gpus"),
    ({"profile": "on-hub", "cmd": "sh"}, "cmd"),
    ({"profile": "cpu", "gpus": 9}, "gpus"),
    ({"profile": ["on-hub"]}, "profile"),
]


@pytest.mark.parametrize(("options", "word"), REFUSED)
def test_what_is_refused(hub, options, word):
    answer = hub.spawn(ALICE, **options)
    assert answer.status_code == 400 and word in answer.json()["message"]
    assert hub.jobs(ALICE) == [] and not hub.server(ALICE).get("pending")


def test_a_server_on_the_hubs_host_survives_the_hub_and_stops(hub):
    hub.spawn(ALICE, profile="on-hub")
    assert hub.events(ALICE)[-1].get("ready") is True
    code = "import os; print(os.getppid(), os.environ['OF_THE_HOOK'], os.environ['OF_THE_SITE'], os.environ['USER'])"
    ran = run_code(hub, ALICE, code).split()
    assert ran[1:] == ["here", "here", ALICE] and hub.jobs(ALICE) == []
    started = hub.notebook(ALICE).json()["started"]
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE)
    assert hub.notebook(ALICE).json()["started"] == started, "the same server"
    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    wait_for(lambda: not Path(f"/proc/{ran[0]}").exists(), 30, "its process is gone")


def test_sessions_in_slurm_beside_it(hub):
    """The same user after a local server: nothing of that is left; also as a named server, at once with a local one."""
    hub.spawn(ALICE, profile="cpu", cpus=2)
    hub.spawn(ALICE, "small", profile="on-hub")
    events = hub.events(ALICE)
    assert events[-1].get("ready") is True and any("JupyterLab" in event["message"] for event in events[:-1]), events
    hub.wait_ready(ALICE, "small")
    assert hub.notebook(ALICE).json()["kernels"] == 0 and hub.notebook(ALICE, name="small").json()["kernels"] == 0
    (job,) = hub.jobs(ALICE)
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE)
    hub.wait_ready(ALICE, "small")
    assert [one["id"] for one in hub.jobs(ALICE)] == [job["id"]]
    assert hub.notebook(ALICE).status_code == hub.notebook(ALICE, name="small").status_code == 200
    for name in ("", "small"):
        hub.stop_server(ALICE, name)
        hub.wait_stopped(ALICE, name)
    assert hub.jobs(ALICE) == []


def test_a_named_session_that_queues_is_taken_up_by_a_restarted_hub(hub):
    with Blocker():
        hub.spawn(ALICE, "gpu", profile="v100")
        wait_for(lambda: [j["state"] for j in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        (job,) = hub.jobs(ALICE)
        assert f":{ALICE}:gpu:" in job["comment"]
        hub.kill()
        hub.start()
        wait_for(lambda: hub.server(ALICE, "gpu").get("pending") == "spawn", 30, "taken up again", hub.told)
        assert [one["id"] for one in hub.jobs(ALICE)] == [job["id"]]
        hub.stop_server(ALICE, "gpu")
        hub.wait_stopped(ALICE, "gpu")
        assert hub.jobs(ALICE) == []


def test_the_form_shows_the_profiles_and_the_others(hub):
    browser = requests.Session()
    browser.get(f"{hub.url}/hub/login", timeout=30)
    xsrf = browser.cookies.get("_xsrf", path="/hub/")
    browser.post(f"{hub.url}/hub/login", data={"username": BOB, "password": "x", "_xsrf": xsrf}, timeout=30)
    page = browser.get(f"{hub.url}/hub/spawn/{BOB}", headers={"Accept-Language": "zh-CN"}, timeout=30).content.decode()
    assert 'value="cpu"' in page and 'value="on-hub"' in page and "在 Hub 主机上" in page
    assert "&lt;i&gt;small" in page and 'value="staff-hub"' not in page


def test_a_class_that_is_not_allowed_ends_the_start(tmp_path):
    wrong = data()
    wrong["spawners"]["on-hub"]["spawner"] = "docker"
    one = Hub(tmp_path, wrong, CONFIG)
    with pytest.raises(AssertionError, match="the Hub ended"):
        one.start()
    assert "spawners.on-hub.spawner: 'docker' is none of" in one.log()
