"""A Hub that is killed (SIGKILL) at any step of a start finds the job again: one job, the same id, and the URL answers."""

import re

import pytest

from tests.cluster.hub import USERS, Blocker, Hub, SlurmFolder, site, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE = USERS[0]


@pytest.fixture
def commands(tmp_path_factory):
    """Slurm's commands, to be held up or broken; in a folder that users can enter."""
    import shutil
    import tempfile
    from pathlib import Path

    folder = Path(tempfile.mkdtemp(prefix="siflab-test-"))
    yield SlurmFolder(folder)
    shutil.rmtree(folder)


@pytest.fixture
def hub(tmp_path, commands):
    data = site()
    data["slurm"]["bin"] = str(commands.folder)
    data["profiles"]["v100"] = {
        "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1,
        "memory": "1G", "time": "0:30:00",
    }  # fmt: skip
    one = Hub(tmp_path, data)
    one.start()
    yield one
    one.stop()


def one_job(hub):
    jobs = hub.jobs(ALICE)
    assert len(jobs) == 1, jobs
    return jobs[0]


def submissions(hub):
    return len(re.findall(r"siflab: submitted job", hub.log()))


def test_killed_while_it_runs(hub):
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    job = one_job(hub)
    before = hub.notebook(ALICE).json()["started"]
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE, timeout=30)
    assert one_job(hub)["id"] == job["id"]
    assert hub.notebook(ALICE).json()["started"] == before, "the same server"


def test_killed_twice_while_it_waits_in_the_queue(hub):
    with Blocker():
        hub.spawn(ALICE, profile="v100")
        wait_for(lambda: [j["state"] for j in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        job = one_job(hub)
        for _ in range(2):
            hub.kill()
            hub.start()
            wait_for(lambda: hub.server(ALICE).get("pending") == "spawn", 30, "taken up again", hub.told)
            assert one_job(hub)["id"] == job["id"]
    hub.wait_ready(ALICE)
    assert one_job(hub)["id"] == job["id"] and submissions(hub) == 1
    assert hub.notebook(ALICE).json()["kernels"] == 0


def test_killed_while_it_waits_and_the_job_starts_in_between(hub):
    with Blocker():
        hub.spawn(ALICE, profile="v100")
        wait_for(lambda: [j["state"] for j in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        job = one_job(hub)
        hub.kill()
    wait_for(lambda: one_job(hub)["state"] == "RUNNING", 60, "running without a Hub")
    hub.start()
    hub.wait_ready(ALICE)
    assert one_job(hub)["id"] == job["id"] and submissions(hub) == 1
    assert hub.notebook(ALICE).json()["kernels"] == 0


def test_killed_after_sbatch_before_its_answer(hub, commands):
    commands.hold("sbatch")
    hub.spawn(ALICE, profile="cpu")
    wait_for(lambda: commands.is_held("sbatch"), 30, "sbatch ran", hub.told)
    job = one_job(hub)
    hub.kill()
    commands.release("sbatch")
    hub.start()
    hub.wait_ready(ALICE)
    assert one_job(hub)["id"] == job["id"] and submissions(hub) == 0
    assert hub.notebook(ALICE).json()["kernels"] == 0


def test_killed_while_the_server_boots(hub):
    hub.spawn(ALICE, profile="cpu")
    wait_for(lambda: "claimed port" in hub.log(), 30, "claimed", hub.told, pause=0.02)
    job = one_job(hub)
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE)
    assert one_job(hub)["id"] == job["id"] and submissions(hub) == 1
    assert hub.notebook(ALICE).json()["kernels"] == 0


def test_the_job_ended_while_the_hub_was_away(hub):
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    job = one_job(hub)
    hub.kill()
    from tests.cluster.hub import slurm

    slurm("scancel", job["id"])
    wait_for(lambda: hub.jobs(ALICE) == [], 60, "gone")
    hub.start()
    hub.wait_stopped(ALICE)
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    assert one_job(hub)["id"] != job["id"]


def test_stopped_while_it_is_taken_up_again(hub):
    with Blocker():
        hub.spawn(ALICE, profile="v100")
        wait_for(lambda: [j["state"] for j in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        hub.kill()
        hub.start()
        wait_for(lambda: hub.server(ALICE).get("pending") == "spawn", 30, "taken up again", hub.told)
        hub.stop_server(ALICE)
        hub.wait_stopped(ALICE)
        assert hub.jobs(ALICE) == []


TROUBLE = [
    ("squeue", "slurm_load_jobs error: Unable to contact slurm controller (connect failure)", 1),
    ("squeue", "slurm_load_jobs error: Protocol authentication error", 1),
    ("squeue", "", 0),
    ("squeue", "JOBID PARTITION NAME USER ST\n", 0),
    ("squeue", "\x1f\x1fgarbage\x1f\n", 0),
]


def test_no_answer_of_slurm_ends_a_session(tmp_path, commands):
    """S1, S2: whatever squeue says that is no proof, the route stays."""
    data = site()
    data["slurm"]["bin"] = str(commands.folder)
    intervals = (
        "c.SingularitySlurmSpawner.running_interval = 0.5\nc.SingularitySlurmSpawner.longest_interval = 1\n"
        "c.Spawner.poll_interval = 1"
    )
    hub = Hub(tmp_path, data, intervals)
    hub.start()
    try:
        hub.spawn(ALICE, profile="cpu")
        hub.wait_ready(ALICE)
        for name, text, code in TROUBLE:
            polls = hub.log().count("gave no usable answer")
            commands.break_(name, text, code)
            wait_for(
                lambda seen=polls: hub.log().count("gave no usable answer") > seen, 60, f"noticed {text!r}", hub.log
            )
            assert hub.is_ready(ALICE), text
            assert hub.notebook(ALICE).status_code == 200
            commands.mend(name)
        commands.break_("squeue", "slurm_load_jobs error: Invalid job id specified", 1)
        wait_for(lambda: "nothing confirms that it ended" in hub.log(), 60, "noticed", hub.told)
        assert hub.is_ready(ALICE), "scontrol knows the job"
    finally:
        hub.stop()


def test_sbatch_times_out_but_the_job_was_made(hub, commands):
    """S3: sbatch fails after it submitted; the job is adopted, not doubled."""
    real = (commands.folder / "sbatch").read_text()
    (commands.folder / "sbatch").write_text(
        real.replace(
            '[ -z "$answer" ]',
            'echo "sbatch: error: Batch job submission failed: Socket timed out on '
            'send/recv operation" >&2; exit 1; [ -z "$answer" ]',
        )
    )
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    one_job(hub)
    assert hub.notebook(ALICE).json()["kernels"] == 0
