"""One start is one job: whatever is pressed twice, and wherever the Hub was killed before Slurm had the job."""

import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.hub import USERS, Hub, SlurmFolder, site, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
USER1 = USERS[0]


@pytest.fixture(scope="module")
def commands():
    folder = Path(tempfile.mkdtemp(prefix="siflab-test-"))
    yield SlurmFolder(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def running(tmp_path_factory, commands):
    data = site()
    data["slurm"]["bin"] = str(commands.folder)
    hub = Hub(tmp_path_factory.mktemp("hub"), data)
    hub.start()
    yield hub
    hub.stop()


@pytest.fixture
def hub(running):
    yield running
    running.stop_server(USER1)
    running.wait_stopped(USER1)
    assert running.jobs() == []


def one_job_that_answers(hub: Hub) -> str:
    hub.wait_ready(USER1)
    (job,) = hub.jobs(USER1)
    assert hub.notebook(USER1).json()["kernels"] == 0
    return job["id"]


def submissions(hub: Hub) -> int:
    return len(re.findall(r"siflab: submitted job", hub.log()))


def test_pressed_many_times_at_once_is_one_job(hub):
    before = submissions(hub)
    hub.add_user(USER1)
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: hub.spawn(USER1, profile="cpu"), range(6)))
    assert any(answer.ok for answer in answers)
    assert all(answer.ok or answer.status_code == 400 for answer in answers), [one.text for one in answers]
    one_job_that_answers(hub)
    assert submissions(hub) == before + 1


def test_killed_before_sbatch_began_which_then_runs_without_a_hub(hub, commands):
    commands.hold_before("sbatch")
    hub.spawn(USER1, profile="cpu")
    wait_for(lambda: commands.is_held("sbatch"), 30, "sbatch is called", hub.told)
    before = submissions(hub)
    hub.kill()
    hub.start()
    wait_for(lambda: hub.server(USER1).get("pending") == "spawn", 30, "taken up again", hub.told)
    assert hub.jobs() == []
    commands.release("sbatch")
    one_job_that_answers(hub)
    assert submissions(hub) == before, "the job of the first Hub's sbatch, found by its mark"


def test_killed_together_with_its_sbatch(hub, commands):
    commands.hold_before("sbatch")
    hub.spawn(USER1, profile="cpu")
    wait_for(lambda: commands.is_held("sbatch"), 30, "sbatch is called", hub.told)
    before = submissions(hub)
    hub.kill()
    subprocess.run(["pkill", "--signal", "KILL", "--full", f"{commands.folder}/sbatch"], check=True)
    commands.release("sbatch")
    hub.start()
    one_job_that_answers(hub)
    assert submissions(hub) == before + 1, "there was no job, so the start went on with one"


def test_many_at_once_and_the_hub_killed_before_they_are_ready(hub):
    """Each is found again by the next Hub, though other requests came and went while it waited for its turn."""
    names = [f"s{number}" for number in range(5)]  # as many as named_server_limit_per_user allows
    hub.add_user(USER1)
    with ThreadPoolExecutor(12) as pool:
        starts = [pool.submit(hub.spawn, USER1, name, profile="cpu") for name in names]
        others = [pool.submit(hub.api, "POST", f"users/{USER1}/tokens", json={"note": "other"}) for _ in range(20)]
        assert all(one.result().ok for one in (*starts, *others))
    jobs = wait_for(lambda: len(found := hub.jobs()) == len(names) and found, 60, "all are submitted", hub.told)
    hub.kill()
    hub.start()
    for name in names:
        hub.wait_ready(USER1, name)
        assert hub.notebook(USER1, name=name).status_code == 200
    assert {job["id"] for job in hub.jobs()} == {job["id"] for job in jobs}
    for name in names:
        hub.stop_server(USER1, name)
    for name in names:
        hub.wait_stopped(USER1, name)
