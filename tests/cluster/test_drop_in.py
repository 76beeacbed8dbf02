"""The settings of a site's old jupyterhub_config.py for batchspawner.SlurmSpawner, each in a job of the real cluster."""

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.hub import IMAGE, PYTHON, USERS, slurm, wait_for, why_not
from tests.cluster.kept import kept_jobs
from tests.cluster.kernel import run_code
from tests.cluster.old_hub import OldHub, running

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[:2]
NODES = os.environ.get("SIFLAB_TEST_NODES", "gpu01 gpu02 gpu03 cpu01").split()
NODE = NODES[-1]  # of the partition cpu
HERE = Path(sys.executable).parent  # has jupyterhub-singleuser, as a site's own environment on its nodes
FORMAT = f"""
c.BatchSpawnerBase.exec_prefix = "sudo -E -u {{username}}"
c.SlurmSpawner.batch_submit_cmd = "sbatch --parsable --nice=7 --qos={{qos}}"
c.SlurmSpawner.batch_query_cmd = "squeue -h -j {{job_id}} -o '%T %B'"
c.SlurmSpawner.batch_cancel_cmd = "scancel --quiet {{job_id}}"
c.SlurmSpawner.startup_poll_interval = 2.0
c.SlurmSpawner.state_exechost_re = r"\\s+((?:[\\w_-]+\\.?)+)$"
c.SlurmSpawner.req_partition = "cpu"
c.SlurmSpawner.req_runtime = "0:17:00"
c.SlurmSpawner.req_memory = "900M"
c.SlurmSpawner.req_nprocs = "2"
c.SlurmSpawner.req_ngpus = ""
c.SlurmSpawner.req_host = "{NODE}"
c.SlurmSpawner.req_account = "@ACCOUNT@"
c.SlurmSpawner.req_options = "--signal=B:USR2@60 --hint=nomultithread"
c.SlurmSpawner.req_srun = "srun"
c.SlurmSpawner.req_prologue = "export OF_THE_SITE=\\"$OF_THE_SITE+1\\" PATH={HERE}:$PATH; false; echo $UNSET_VARIABLE"
c.SlurmSpawner.req_keepvars_extra = "KEPT_EXTRA,JUPYTERHUB_API_TOKEN"
c.Spawner.environment = {{"OF_THE_SITE": "a 'b' $c", "SITE_PASSWORD": "by the claim", "KEPT_EXTRA": "x"}}
c.Spawner.cmd = ["jupyterhub-singleuser"]
c.Spawner.args = ["--ServerApp.shutdown_no_activity_timeout=86399"]
c.Spawner.notebook_dir = "~/"
c.Spawner.default_url = "/lab"
c.SlurmSpawner.batch_script = '''#!/bin/bash
#SBATCH --partition={{partition}}
#SBATCH --time={{runtime}}
#SBATCH --mem={{memory}} --cpus-per-task={{nprocs}}
#SBATCH --gres=gpu:{{ngpus}}
#SBATCH --gres={{gres}}
#SBATCH --reservation={{reservation}}
#SBATCH --account={{account}}
#SBATCH -w {{host}}
#SBATCH --job-name=old-{{username}}
#SBATCH --comment=of-the-site
#SBATCH --requeue
#SBATCH --chdir={{homedir}}
#SBATCH --output={{homedir}}/old-%j.log
#SBATCH --export={{keepvars}}
#SBATCH {{options}}
{{prologue}}
{{srun}} {{cmd}}
{{epilogue}}
'''
"""
SINGULARITY = f"""
c.SlurmSpawner.req_partition = "cpu"
c.SlurmSpawner.req_runtime = "0:15:00"
c.SlurmSpawner.req_memory = "1G"
c.SlurmSpawner.batchspawner_singleuser_cmd = "singularity exec --cleanenv {IMAGE} {PYTHON.rsplit("/", 1)[0]}/batchspawner-singleuser"
c.SlurmSpawner.option_patterns = {{"partition": "cpu|interactive", "title": "[A-Za-z0-9 $()]+"}}
c.SlurmSpawner.batch_script = '''#!/bin/sh
{{% if partition %}}#SBATCH --partition={{{{partition}}}}
{{% endif %}}#SBATCH --time={{{{runtime}}}}
#SBATCH --mem={{{{memory}}}}
#SBATCH --gres={{{{gres}}}}
#SBATCH --job-name={{{{title}}}}
set -eu
cd /
exec {{{{cmd}}}}
'''
c.Spawner.start_timeout = 120
"""


CLUSTERED = f"""
import os
os.environ["KEPT_BY_NAME"] = "of the Hub"
c.SlurmSpawner.batch_submit_cmd = "sbatch -M {{cluster}} --parsable"
c.SlurmSpawner.batch_cancel_cmd = "scancel -M {{cluster}} {{job_id}}"
c.SlurmSpawner.batchspawner_singleuser_cmd = "{HERE}/batchspawner-singleuser"
c.SlurmSpawner.req_cluster = "@CLUSTER@"
c.SlurmSpawner.req_queue = "gpu-v100"
c.SlurmSpawner.req_gres = "gpu:v100:1"
c.SlurmSpawner.req_reservation = "old-site"
c.SlurmSpawner.req_qos = "@QOS@"
c.Spawner.env_keep = ["PATH", "KEPT_BY_NAME"]
c.Spawner.start_timeout = 60

def hook(spawner):
    spawner.req_nprocs = "3" if spawner.user.name == "{ALICE}" else "1"

c.Spawner.pre_spawn_hook = hook
c.SlurmSpawner.batch_script = '''#!/bin/bash
#SBATCH --partition={{queue}} --gres={{gres}} --reservation={{reservation}} --qos={{qos}}
#SBATCH --cpus-per-task={{nprocs}} --mem=1G --time=10
#SBATCH --output={{homedir}}/old-%j.log --chdir={{homedir}}
#SBATCH --export={{keepvars}}
{{cmd}}
'''
"""


def account():
    return slurm("sacctmgr", "-nP", "show", "assoc", f"user={ALICE}", "format=account").split()[0]


@pytest.fixture(scope="module")
def formatted(tmp_path_factory):
    yield from running(tmp_path_factory.mktemp("hub"), FORMAT.replace("@ACCOUNT@", account()))


@pytest.fixture(scope="module")
def contained(tmp_path_factory):
    yield from running(tmp_path_factory.mktemp("hub"), SINGULARITY)


def test_every_setting_of_an_old_configuration_reaches_the_job(formatted):
    hub, home = formatted, Path(pwd.getpwnam(ALICE).pw_dir)
    hub.spawn(ALICE)
    hub.wait_ready(ALICE)
    (job,) = hub.jobs(ALICE)
    assert job["comment"].startswith(f"siflab:{hub.site['name']}:{ALICE}::"), "the mark, not the script's comment"
    shown = slurm("scontrol", "--oneliner", "show", "job", job["id"])
    for words in (
        f"UserId={ALICE}(", f"JobName=old-{ALICE} ", "Partition=cpu ", "TimeLimit=00:17:00 ", f"Account={account()} ",
        "NumCPUs=2 ", f"ReqNodeList={NODE} ", "Requeue=0 ", f"WorkDir={home} ", f"StdOut={home}/old-{job['id']}.log",
    ):  # fmt: skip
        assert words in shown, words
    assert "mem=900M" in shown and "gres/gpu" not in shown and "Nice=7 " in shown

    code = "import os, sys, json; print(json.dumps([dict(os.environ), os.getcwd(), sys.prefix]))"
    env, folder, prefix = json.loads(run_code(hub, ALICE, code))
    assert env["OF_THE_SITE"] == "a 'b' $c+1", "the prologue's word counts"
    assert env["SITE_PASSWORD"] == "by the claim" and env["KEPT_EXTRA"] == "x"
    assert env["JUPYTERHUB_DEFAULT_URL"] == "/lab" and folder == str(home) and prefix == str(HERE.parent)
    assert "SIFLAB_TEST_SECRET" not in env and env["PATH"].split(":")[1] == str(HERE)
    assert env["HOME"] == str(home) and env["SLURM_JOB_ID"] == job["id"]
    assert hub.notebook(ALICE, "api/me").json()["identity"]["username"] == ALICE

    script = subprocess.run(
        ["scontrol", "write", "batch_script", job["id"], "-"], capture_output=True, text=True
    ).stdout
    assert "#SBATCH --gres" not in script and "#SBATCH --reservation" not in script, "what is empty is left out"
    for secret in ("SITE_PASSWORD", "by the claim", "JUPYTERHUB_API_TOKEN", env["JUPYTERHUB_API_TOKEN"]):
        assert secret not in script
        assert secret not in slurm("sacct", "-j", job["id"], "-X", "--env-vars", check=False)

    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    assert hub.jobs(ALICE) == []
    assert (home / f"old-{job['id']}.log").read_text().count("the server listens") == 1
    (home / f"old-{job['id']}.log").unlink()


@pytest.fixture
def reservation():
    argv = [f"users={ALICE}", f"nodes={NODES[-2]}", "starttime=now", "duration=30", "flags=ignore_jobs"]
    slurm("scontrol", "create", "reservation", "reservationname=old-site", *argv)
    yield "old-site"
    slurm("scontrol", "delete", "reservationname=old-site")


def test_a_cluster_a_reservation_a_gres_and_a_hook_of_an_old_configuration(tmp_path, reservation):
    cluster = slurm("scontrol", "show", "config").partition("\nClusterName")[2].split()[1]
    (qos, *_) = slurm("sacctmgr", "-nP", "show", "assoc", f"user={ALICE}", "format=qos").split()[0].split(",")
    for hub in running(tmp_path, CLUSTERED.replace("@CLUSTER@", cluster).replace("@QOS@", qos)):
        hub.spawn(ALICE)
        hub.wait_ready(ALICE)
        (job,) = hub.jobs(ALICE)
        shown = slurm("scontrol", "--oneliner", "show", "job", job["id"])
        for words in ("Partition=gpu-v100 ", f"Reservation={reservation} ", f"QOS={qos} ", "NumCPUs=3 ", "gpu:v100:1"):
            assert words in shown, words
        assert kept_jobs(hub) == [(job["id"], cluster)]
        env = json.loads(run_code(hub, ALICE, "import os, json; print(json.dumps(dict(os.environ)))"))
        assert env["KEPT_BY_NAME"] == "of the Hub" and env["SLURM_JOB_ID"] == job["id"]
        hub.stop_server(ALICE)
        hub.wait_stopped(ALICE)
        assert hub.jobs(ALICE) == []
        Path(f"{pwd.getpwnam(ALICE).pw_dir}/old-{job['id']}.log").unlink()


HOSTILE = [
    {"partition": "cpu\n#SBATCH --account=root"},
    {"runtime": "$(touch /tmp/siflab-was-here)"},
    {"cmd": "sh"},
    {"prologue": "touch /tmp/siflab-was-here"},
    {"options": "--wrap=id"},
    {"profile": "x"},
]


def test_what_a_user_sends_is_an_allow_list(formatted):
    for options in HOSTILE:
        answer = formatted.spawn(BOB, **options)
        assert answer.status_code == 400 and next(iter(options)) in answer.json()["message"], options
    assert formatted.jobs(BOB) == []


def test_a_job_that_cannot_start_says_why(formatted):
    """S5: within a poll, with Slurm's words or the log's last lines."""
    answer = formatted.spawn(BOB, partition="no-such-partition")
    text = answer.text if answer.status_code >= 400 else formatted.events(BOB)[-1]["message"]
    assert "artition" in text, text
    formatted.wait_stopped(BOB)


def test_a_session_in_the_sites_own_singularity_line(contained):
    """S9, S10: a stock image without batchspawner; the site's script is strict, our lines stand it; a restarted Hub
    finds the session again."""
    hub = contained
    assert hub.spawn(ALICE, title="$(id)").status_code == 400, "a pattern cannot let shell syntax in"
    hub.spawn(ALICE, partition="interactive", title="mine")
    assert hub.events(ALICE)[-1].get("ready") is True
    (job,) = hub.jobs(ALICE)
    shown = slurm("scontrol", "--oneliner", "show", "job", job["id"])
    assert "Partition=interactive " in shown and "JobName=mine " in shown
    code = (
        "import os, sys, json; print(json.dumps([sys.executable, os.path.exists('/.singularity.d'), dict(os.environ)]))"
    )
    python, inside, env = json.loads(run_code(hub, ALICE, code))
    assert inside and python.startswith(PYTHON.rsplit("/", 1)[0])
    assert env["JUPYTER_RUNTIME_DIR"].startswith("/tmp/siflab.") and env["SIFLAB_DIR"] in env["JUPYTER_RUNTIME_DIR"]
    hub.kill()
    hub.start()
    hub.wait_ready(ALICE)
    assert [one["id"] for one in hub.jobs(ALICE)] == [job["id"]]
    assert hub.notebook(ALICE).status_code == 200
    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    assert hub.jobs(ALICE) == []


REFUSED = [
    ('c.SlurmSpawner.exec_prefix = "ssh login"', "c.SlurmSpawner.exec_prefix: 'ssh' is not known"),
    ('c.SlurmSpawner.batch_submit_cmd = "sbatch | tail -1"', "c.SlurmSpawner.batch_submit_cmd: '|' is shell syntax"),
]


@pytest.mark.parametrize(("setting", "words"), REFUSED)
def test_the_hub_does_not_start_with_a_setting_that_cannot_be(tmp_path, setting, words):
    hub = OldHub(tmp_path, setting)
    with pytest.raises(AssertionError, match="the Hub ended"):
        hub.start()
    assert words in hub.log()


def test_the_default_script_with_nothing_but_a_partition(tmp_path):
    """batchspawner's own default batch_script, of which the site set only a piece; stop works while it is queued (S6)."""
    config = f"""
c.SlurmSpawner.req_partition = "cpu"
c.SlurmSpawner.req_srun = ""
c.SlurmSpawner.req_memory = "1G"
c.SlurmSpawner.req_epilogue = "echo of the epilogue"
c.SlurmSpawner.batchspawner_singleuser_cmd = "{HERE}/batchspawner-singleuser"
"""
    for hub in running(tmp_path, config):
        hub.spawn(ALICE, runtime="0:10:00")
        hub.wait_ready(ALICE)
        (job,) = hub.jobs(ALICE)
        shown = slurm("scontrol", "--oneliner", "show", "job", job["id"])
        home = pwd.getpwnam(ALICE).pw_dir
        assert "JobName=spawner-jupyterhub " in shown and "TimeLimit=00:10:00 " in shown
        assert f"StdOut={home}/jupyterhub_slurmspawner_{job['id']}.log" in shown
        assert hub.notebook(ALICE).json()["kernels"] == 0
        hub.stop_server(ALICE)
        hub.wait_stopped(ALICE)
        log = Path(f"{home}/jupyterhub_slurmspawner_{job['id']}.log")
        wait_for(lambda one=log: "\nof the epilogue\n" in one.read_text(), 30, "the epilogue", log.read_text)
        assert "SIGTERM received" in log.read_text() and "received signal 15" in log.read_text()
        log.unlink()
        hub.spawn(BOB, partition="cpu", nprocs=1, host="", reservation="")
        wait_for(lambda one=hub: one.jobs(BOB), 30, "submitted", hub.told)
        hub.stop_server(BOB)
        hub.wait_stopped(BOB)
        assert hub.jobs(BOB) == []
