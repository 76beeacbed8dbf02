"""batchspawner's own SlurmSpawner on a Hub that has Siflab: it learns the port by a route that takes nothing else."""

import sys
from pathlib import Path

import pytest
import requests

from tests.cluster.hub import USERS, running_hub, site, slurm, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE = USERS[0]


def settings():
    addresses = {}
    for line in slurm("scontrol", "--oneliner", "show", "nodes").splitlines():
        words = dict(word.partition("=")[::2] for word in line.split())
        addresses[words["NodeName"]] = words["NodeAddr"]
    bin_folder, prefix = Path(sys.executable).parent, "runuser -u {username} -- "
    return f"""
import batchspawner
import siflab_spawner
class Addressed(batchspawner.SlurmSpawner):
    def state_gethost(self):
        return {addresses!r}[super().state_gethost()]
c.JupyterHub.spawner_class = Addressed
c.Spawner.cmd = ["{bin_folder}/jupyterhub-singleuser"]
c.Spawner.default_url = "/tree"
c.Spawner.env_keep = ["PATH", "LANG", "SLURM_CONF"]
c.BatchSpawnerBase.exec_prefix = ""
c.BatchSpawnerBase.startup_poll_interval = 0.5
c.BatchSpawnerBase.batchspawner_singleuser_cmd = "{bin_folder}/batchspawner-singleuser"
c.SlurmSpawner.batch_submit_cmd = "{prefix}sbatch --parsable"
c.SlurmSpawner.batch_query_cmd = "squeue -h -j {{job_id}} -o '%T %B'"
c.SlurmSpawner.batch_cancel_cmd = "{prefix}scancel {{job_id}}"
c.SlurmSpawner.batch_script = '''#!/bin/bash
#SBATCH --partition=cpu --cpus-per-task=1 --mem=1G --time=10
#SBATCH --comment=siflab:@site@:beside
#SBATCH --chdir={{{{homedir}}}}
#SBATCH --output={{{{homedir}}}}/beside-%j.log
#SBATCH --export={{{{keepvars}}}}
exec {{{{cmd}}}}
'''
"""


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    data = site()
    yield from running_hub(tmp_path_factory.mktemp("hub"), data, settings().replace("@site@", data["name"]))


def test_it_becomes_ready_and_its_route_takes_nothing_else(hub):
    assert hub.spawn(ALICE).ok, hub.told()
    hub.wait_ready(ALICE)
    assert "version" in hub.notebook(ALICE, "api").json()
    assert "201 POST /hub/api/batchspawner" in hub.log()
    token = hub.api("POST", f"users/{ALICE}/tokens", json={"note": "test"}).json()["token"]
    for headers in ({}, {"Authorization": "token x"}, {"Authorization": f"token {token}"}):
        told = requests.post(f"{hub.url}/hub/api/batchspawner", json={"port": 1}, headers=headers, timeout=10)
        assert told.status_code == 403, headers
    assert hub.notebook(ALICE, "api").status_code == 200
    hub.stop_server(ALICE)
    wait_for(lambda: hub.jobs() == [], 60, "gone", hub.told)
