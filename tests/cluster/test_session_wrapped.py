"""Inside wrapspawner's ProfilesSpawner (S9): port and URL reach the child, and a restart finds the session."""

import pytest

from tests.cluster.hub import USERS, Blocker, Hub, site, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
pytest.importorskip("wrapspawner")
ALICE = USERS[0]
CONFIG = """
c.JupyterHub.spawner_class = "wrapspawner.ProfilesSpawner"
c.ProfilesSpawner.profiles = [
    ("CPU in Slurm", "slurm-cpu", "siflab_spawner.SingularitySlurmSpawner", {"fixed_choice": {"profile": "cpu"}}),
    ("V100 in Slurm", "slurm-v100", "siflab_spawner.SingularitySlurmSpawner", {"fixed_choice": {"profile": "v100"}}),
]
c.Spawner.start_timeout = 86400  # of the wrapper, which rules
"""


@pytest.fixture
def hub(tmp_path):
    data = site()
    data["profiles"]["v100"] = {
        "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1,
        "memory": "1G", "time": "0:30:00",
    }  # fmt: skip
    one = Hub(tmp_path, data, CONFIG)
    one.start()
    yield one
    one.stop()


def test_a_wrapped_session_starts_survives_a_restart_and_stops(hub):
    hub.spawn(ALICE, profile="slurm-cpu")
    assert hub.events(ALICE)[-1].get("ready") is True
    assert hub.notebook(ALICE).json()["kernels"] == 0
    (job,) = hub.jobs(ALICE)
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE)
    assert hub.notebook(ALICE).json()["kernels"] == 0
    assert [one["id"] for one in hub.jobs(ALICE)] == [job["id"]]
    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    assert hub.jobs(ALICE) == []


def test_a_wrapped_session_that_queues_is_taken_up_by_a_restarted_hub(hub):
    with Blocker():
        hub.spawn(ALICE, profile="slurm-v100")
        wait_for(lambda: [j["state"] for j in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        (job,) = hub.jobs(ALICE)
        hub.kill()
        hub.start()
        wait_for(lambda: hub.server(ALICE).get("pending") == "spawn", 30, "taken up again", hub.told)
    hub.wait_ready(ALICE)
    assert [one["id"] for one in hub.jobs(ALICE)] == [job["id"]]
    assert hub.notebook(ALICE).json()["kernels"] == 0
