"""The watcher on the real cluster: what jobs ended of, hidden jobs, a cluster asked for by name, a job that is requeued."""

import asyncio
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from siflab.slurm.commands import scontrol_job, squeue_jobs
from siflab.slurm.execute import PosixUser, Slurm
from siflab_spawner.start.mark import Ours
from siflab_spawner.watch.evidence import confirm_end, read_scontrol
from siflab_spawner.watch.outcome import in_words
from siflab_spawner.watch.queue_answer import NoProof, read_queue
from tests.cluster.hub import REPOSITORY, USERS, running_hub, site, slurm, wait_for, why_not
from tests.cluster.kept import kept_jobs

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
USER1, USER2, HUB_ACCOUNT = USERS[0], USERS[1], USERS[2]


def submit(user: str, wrap: str, *options: str) -> str:
    command = ["sbatch", "--parsable", "--partition=cpu", "--time=10", "--output=/dev/null", "--no-requeue",
               *([] if any(option.startswith("--mem") for option in options) else ["--mem=50"]), *options,
               f"--wrap={wrap}"]  # fmt: skip
    switch = ["runuser", "-u", user, "--", "env", f"SLURM_CONF={os.environ['SLURM_CONF']}"]
    return subprocess.run([*switch, *command], check=True, capture_output=True, text=True, cwd="/").stdout.strip()


def state(job: str) -> str:
    return slurm("squeue", "--noheader", "--states=all", "--jobs", job, "--format=%T", check=False).strip()


def wait_state(job: str, *states: str) -> None:
    wait_for(lambda: state(job) in states, 60, f"job {job} is {' or '.join(states)}", lambda: state(job))


def config(name: str) -> str:
    match = re.search(rf"^{name}\s*=\s*(\S+)", slurm("scontrol", "show", "config"), re.MULTILINE)
    return match[1] if match else ""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """Its site names the cluster; polls are short, so that a test sees what a person would see within half a minute."""
    data = site(slurm={"conf": os.environ["SLURM_CONF"], "cluster": config("ClusterName")})
    extra = "c.Spawner.poll_interval = 1\nc.SingularitySlurmSpawner.running_interval = 0.5"
    yield from running_hub(tmp_path_factory.mktemp("hub"), data, extra)


@pytest.fixture
def here():
    return Slurm(conf=os.environ["SLURM_CONF"])


def test_what_a_job_ended_of_is_told(here):
    """Also of a job whose name says that it is over: it is not, before Slurm says so in a field of its own."""
    forger = submit(USER1, "sleep 600", "--job-name=x JobState=COMPLETED Reason=None")
    by_root, by_owner = submit(USER1, "sleep 600"), submit(USER2, "sleep 600")
    failed = submit(USER1, "exit 3")
    hungry = submit(USER1, 'python3 -c "x = bytearray(400 * 2**20)" || exit 1', "--mem=100")
    for job in (forger, by_root, by_owner):
        wait_state(job, "RUNNING")
    shown = asyncio.run(here.arun(scontrol_job(forger)))
    assert "JobState=COMPLETED" in shown.stdout and read_scontrol(forger, shown) == "unclear"
    assert asyncio.run(confirm_end(here, forger, None)) is None, "it runs, whatever its name says"

    slurm("scancel", by_root, forger)
    subprocess.run(["runuser", "-u", USER2, "--", "env", f"SLURM_CONF={os.environ['SLURM_CONF']}", "scancel", by_owner],
                   check=True)  # fmt: skip
    said = {}

    def all_told():
        for job, user in ((by_root, USER1), (by_owner, USER2), (failed, USER1), (hungry, USER1), (forger, USER1)):
            if job not in said and state(job) not in ("PENDING", "RUNNING", "COMPLETING"):
                owner = PosixUser.find(user)
                found = asyncio.run(confirm_end(here, job, None, Ours(user), owner=owner, patient=True))
                if found is not None:
                    said[job] = in_words(found).en
        return len(said) == 5

    wait_for(all_told, 60, "Slurm and accounting tell what they ended of", lambda: str(said))
    assert "it was cancelled by root" in said[by_root] and "it was cancelled by root" in said[forger]
    assert "it was cancelled by you" in said[by_owner]
    assert "exit code 3" in said[failed]
    if config("TaskPlugin").find("cgroup") >= 0:
        assert re.search(r"(used \d+ MiB of|reached its) 100 MiB", said[hungry]), said[hungry]


def test_an_unknown_cluster_proves_nothing(here):
    """Asked for by name, as with several clusters; 22.05 exits 0 when a name in a list is not known."""
    name, job = config("ClusterName"), submit(USER1, "sleep 600")
    try:
        wait_state(job, "RUNNING", "PENDING")
        own = asyncio.run(Slurm(conf=here.conf, cluster=name).arun(squeue_jobs([job])))
        assert own.ok and job in asyncio.run(read_queue(own, [job]))
        for other in ("no-such-cluster", f"{name},no-such-cluster"):
            done = asyncio.run(Slurm(conf=here.conf, cluster=other).arun(squeue_jobs([job])))
            with pytest.raises(NoProof):
                asyncio.run(read_queue(done, [job]))
    finally:
        slurm("scancel", job)


def test_a_session_knows_its_cluster_and_a_requeued_one_ends_with_a_message(hub):
    """The job id is kept with the cluster, a restarted Hub finds both (S23); then an administrator requeues the job,
    although sessions are --no-requeue (S26)."""
    hub.spawn(USER1, profile="cpu")
    hub.wait_ready(USER1)
    (job,) = hub.jobs(USER1)
    assert kept_jobs(hub) == [(job["id"], config("ClusterName"))]
    hub.kill()
    hub.start()
    hub.wait_ready(USER1)
    assert hub.notebook(USER1).status_code == 200 and [found["id"] for found in hub.jobs(USER1)] == [job["id"]]

    slurm("scontrol", "update", f"JobId={job['id']}", "Requeue=1")
    slurm("scontrol", "requeue", job["id"])
    hub.wait_stopped(USER1)
    wait_for(lambda: not hub.jobs(USER1), 60, "the requeued job is cancelled", hub.told)
    assert f"Job {job['id']} was put back into the queue" in hub.log(), hub.told()
    assert hub.notebook(USER1).status_code in (302, 424, 503), "there is no route to where it ran"


@pytest.fixture
def private_data(tmp_path):
    """Slurm hides jobs of others, as at some sites; its configuration is put back."""
    conf = Path(os.environ["SLURM_CONF"])
    before = conf.read_bytes()
    try:
        conf.write_bytes(before + b"\nPrivateData=jobs\n")
        slurm("scontrol", "reconfigure")
        wait_for(lambda: config("PrivateData") == "jobs", 30, "slurmctld hides jobs")
        yield
    finally:
        conf.write_bytes(before)
        slurm("scontrol", "reconfigure")
        wait_for(lambda: config("PrivateData") == "none", 30, "slurmctld hides nothing any more")


@pytest.fixture
def watcher_of_another(tmp_path):
    """Starts a watcher as an ordinary account of the cluster that may act as others, as one with the launcher may."""
    folder = Path(subprocess.run(["mktemp", "-d", "/var/tmp/siflab-test-XXXXXX"], check=True, capture_output=True,
                                 text=True).stdout.strip())  # fmt: skip
    folder.chmod(0o755)
    for name in ("siflab", "spawner", "tests"):
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    started = []

    def start(*jobs: str) -> "subprocess.Popen[str]":
        may = ["--inh-caps", "+setuid,+setgid", "--ambient-caps", "+setuid,+setgid"]
        switch = ["setpriv", "--reuid", HUB_ACCOUNT, "--regid", HUB_ACCOUNT, "--init-groups", *may]
        env = {"PATH": os.environ["PATH"], "SLURM_CONF": os.environ["SLURM_CONF"], "LANG": "C.UTF-8",
               "PYTHONPATH": f"{folder}:{folder / 'spawner'}", "HOME": pwd.getpwnam(HUB_ACCOUNT).pw_dir}  # fmt: skip
        process = subprocess.Popen(
            [*switch, sys.executable, str(folder / "tests" / "cluster" / "watch_as.py"), *jobs], env=env, cwd="/",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        started.append(process)
        return process

    yield start
    for process in started:
        process.stdin.close()
        process.wait(30)
    shutil.rmtree(folder)


def look(process: "subprocess.Popen[str]") -> dict:
    process.stdin.write("look\n")
    process.stdin.flush()
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return json.loads(line)


def test_hidden_jobs_are_noticed_and_asked_for_as_their_owners(private_data, watcher_of_another):
    jobs = {USER1: submit(USER1, "sleep 600"), USER2: submit(USER2, "sleep 600")}
    try:
        for job in jobs.values():
            wait_state(job, "RUNNING")
        hidden = ["setpriv", "--reuid", HUB_ACCOUNT, "--clear-groups", "squeue", "--noheader", "--jobs", jobs[USER1]]
        assert "Invalid job id" in subprocess.run(hidden, capture_output=True, text=True).stderr
        process = watcher_of_another(*(f"{user}:{job}" for user, job in jobs.items()))
        told = look(process)
        assert told["sees_all"] is False
        assert [reading[0] for reading in told["jobs"].values()] == ["running", "running"]

        slurm("scancel", jobs[USER2])
        wait_state(jobs[USER2], "CANCELLED")
        told = wait_for(
            lambda: (seen := look(process)) and seen["jobs"][jobs[USER2]][0] == "ended" and seen, 60, "its end is seen"
        )
        assert told["jobs"][jobs[USER2]][1] == "CANCELLED" and told["jobs"][jobs[USER1]][0] == "running"
        process.stdin.close()
        assert f"sacctmgr modify user where name={HUB_ACCOUNT} set adminlevel=Operator" in process.stderr.read()
    finally:
        slurm("scancel", *jobs.values())


def test_a_job_that_becomes_hidden_has_not_ended(watcher_of_another, request):
    """Slurm's configuration changes while the Hub runs; slurmctld then says of jobs that there are no such ones."""
    job = submit(USER1, "sleep 600")
    try:
        wait_state(job, "RUNNING")
        process = watcher_of_another(f"{USER1}:{job}")
        told = look(process)
        assert (told["sees_all"], told["jobs"][job][0]) == (True, "running")
        request.getfixturevalue("private_data")
        told = look(process)
        assert (told["sees_all"], told["jobs"][job][0]) == (False, "running")
    finally:
        slurm("scancel", job)
