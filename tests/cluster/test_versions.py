"""JupyterHub 5.3 and 6.1 on the Hub, singleuser 4.1, 5.x and 6.x in the images: each starts a session once."""

import os
from pathlib import Path

import pytest
import requests

from tests.cluster.hub import PYTHON, USERS, Blocker, Hub, running_hub, site, wait_for, why_not

OLDER_HUB = os.environ.get("SIFLAB_TEST_OLDER_HUB", "")
IMAGES = Path(os.environ.get("SIFLAB_TEST_OLDER_IMAGES", "/nonexistent"))
OLDER = {"jupyterhub-4": "4.1.", "jupyterhub-5": "5."}
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(why_not() is not None, reason=str(why_not())),
    pytest.mark.skipif(not OLDER_HUB, reason="no image: SIFLAB_TEST_OLDER_IMAGES and SIFLAB_TEST_OLDER_HUB"),
]
USER1 = USERS[0]


def site_with_older_images() -> dict:
    data = site()
    for name in OLDER:
        image = {"path": str(IMAGES / f"stock-{name}.sif"), "title": name, "python": PYTHON}
        data["images"][name] = image
        data["profiles"][name] = {**data["profiles"]["cpu"], "image": name, "title": name}
    data["profiles"]["v100"] = {**data["profiles"]["a100"], "partition": "gpu-v100", "gpu_type": "v100"}
    return data


@pytest.fixture(scope="module", params=["6", "5.3"])
def hub(request, tmp_path_factory):
    python = "" if request.param == "6" else OLDER_HUB
    for hub in running_hub(tmp_path_factory.mktemp("hub"), site_with_older_images(), python=python):
        assert hub.api("GET", "").json()["version"].startswith("6." if request.param == "6" else "5.3.")
        yield hub


def version_of_the_server(hub: Hub, user: str) -> str:
    """What the running server itself says: JupyterHub's singleuser puts its version into every answer's header."""
    answer: requests.Response = hub.notebook(user, "api/status")
    assert answer.status_code == 200
    return str(answer.headers["X-JupyterHub-Version"])


@pytest.mark.parametrize("profile", [*OLDER, "cpu"])
def test_an_image_with_this_jupyterhub_starts(hub, profile):
    hub.spawn(USER1, profile=profile)
    hub.wait_ready(USER1)
    try:
        assert version_of_the_server(hub, USER1).startswith(OLDER.get(profile, "6."))
    finally:
        hub.stop_server(USER1)
        hub.wait_stopped(USER1)
    assert hub.jobs(USER1) == []


def test_what_may_differ_between_versions_of_the_hub(hub):
    """Options are validated, the start can be watched, and a killed Hub takes it up again."""
    refused = hub.spawn(USER1, profile="cpu", time="3:00:00")
    assert refused.status_code == 400 and "time: " in refused.json()["message"]
    with Blocker():
        assert hub.spawn(USER1, profile="v100").ok
        (job,) = wait_for(lambda: hub.jobs(USER1), 30, "submitted", hub.told)
        hub.kill()
        hub.start()
        wait_for(lambda: hub.server(USER1).get("pending") == "spawn", 30, "taken up again", hub.told)
    hub.wait_ready(USER1)
    assert [one["id"] for one in hub.jobs(USER1)] == [job["id"]]
    assert hub.notebook(USER1).status_code == 200
    hub.stop_server(USER1)
    hub.wait_stopped(USER1)
