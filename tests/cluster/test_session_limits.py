"""The two limits of a start: in the queue, and from the job's start until its server answers."""

import pytest

from tests.cluster.hub import USERS, Blocker, Hub, site, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE = USERS[0]
V100 = {
    "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1,
    "memory": "1G", "time": "0:30:00",
}  # fmt: skip


def started(folder, session, config=""):
    data = site(session=session)
    data["profiles"]["v100"] = V100
    hub = Hub(folder, data, config)
    hub.start()
    return hub


def test_a_server_that_does_not_listen_ends_at_the_boot_limit(tmp_path):
    config = 'c.SingularitySlurmSpawner.cmd = ["sleep", "600"]\nc.SingularitySlurmSpawner.args = []'
    hub = started(tmp_path, {"boot_limit": "0:00:08"}, config)
    try:
        hub.spawn(ALICE, profile="cpu")
        last = hub.events(ALICE)[-1]
        assert last["failed"] is True and "0:00:08" in last["message"] and "boot_limit" in last["message"]
        hub.wait_stopped(ALICE)
        assert hub.jobs(ALICE) == []
    finally:
        hub.stop()


def test_a_start_that_waits_longer_than_the_site_allows_is_cancelled(tmp_path):
    hub = started(tmp_path, {"queue_limit": "0:00:06"})
    try:
        with Blocker():
            hub.spawn(ALICE, profile="v100")
            last = hub.events(ALICE)[-1]
            assert last["failed"] is True and "waited 0:00:06 in the queue" in last["message"]
            hub.wait_stopped(ALICE)
            assert hub.jobs(ALICE) == []
    finally:
        hub.stop()
