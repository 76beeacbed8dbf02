"""JupyterHub's internal_ssl across nodes (S11): certificates travel in the claim, and nothing answers without one."""

import re
import subprocess
from pathlib import Path

import pytest
import requests

from tests.cluster.hub import USERS, Blocker, site, slurm, wait_for, why_not
from tests.cluster.ssl_hub import SslHub
from tests.cluster.test_session import _decoded

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[0], USERS[1]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    data = site()
    data["profiles"]["v100"] = {
        "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100", "cpus": 1,
        "memory": "1G", "time": "0:30:00",
    }  # fmt: skip
    one = SslHub(tmp_path_factory.mktemp("hub"), data)
    one.start()
    yield one
    one.stop()


@pytest.fixture(scope="module")
def job(hub):
    """A session of ALICE on a GPU node, as squeue has it."""
    assert hub.spawn(ALICE, profile="a100", gpus=1).ok, hub.told()
    assert hub.events(ALICE)[-1].get("ready"), hub.told()
    (one,) = hub.jobs(ALICE)
    return one


def private_folder(job):
    (folder,) = Path("/tmp").glob(f"siflab.{job['id']}.*")
    return folder


def server(hub, job):
    """(address of the node, port) of the session's server."""
    port = re.search(rf"job {job['id']} of \S+ claimed port (\d+)", hub.log())[1]
    return re.search(r"NodeAddr=(\S+)", slurm("scontrol", "show", "node", job["node"]))[1], int(port)


def test_a_session_on_a_gpu_node_answers_through_the_proxy(hub, job):
    assert hub.notebook(ALICE).json()["kernels"] == 0
    page = hub.notebook(ALICE, "lab")
    assert page.status_code == 200 and "jupyter-config-data" in page.text


def test_the_key_is_in_the_private_folder_alone(hub, job):
    folder = private_folder(job)
    assert folder.stat().st_mode & 0o777 == 0o700 and folder.owner() == ALICE
    assert (folder / "key.pem").stat().st_mode & 0o777 == 0o600
    line = (folder / "key.pem").read_text().splitlines()[1]
    script = Path(f"/tmp/siflab-test-{job['id']}.sh")
    slurm("scontrol", "write", "batch_script", job["id"], str(script))
    try:
        places = {"script": _decoded(script.read_text())}
    finally:
        script.unlink()
    assert "claim_url" in places["script"]
    places |= {
        "sacct": slurm("sacct", "--env-vars", "--jobs", job["id"]),
        "scontrol": slurm("scontrol", "--details", "show", "job", job["id"]),
        "arguments": subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout,
        "job's log": Path(f"~{ALICE}/.siflab/sessions/{job['id']}.log").expanduser().read_text(),
    }
    places |= {str(file): file.read_text("latin-1") for file in hub.folder.rglob("*") if file.is_file()}
    places |= {str(file): file.read_text("latin-1") for file in environments()}
    assert [place for place, text in places.items() if line in text] == []


def environments():
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            file.read_bytes()
        except OSError:
            continue
        yield file


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_nothing_answers_without_a_certificate(hub, job):
    address, port = server(hub, job)
    with pytest.raises(requests.ConnectionError):
        requests.get(f"http://{address}:{port}/user/{ALICE}/api", timeout=10)
    url = f"https://{address}:{port}/user/{ALICE}/api"
    with pytest.raises(requests.ConnectionError, match=r"(?i)certificate required|handshake|eof|reset"):
        requests.get(url, timeout=10, verify=False)
    own = hub.folder / "data" / "internal-ssl" / "hub-internal"
    known = requests.get(
        url,
        timeout=10,
        verify=str(hub.folder / "data" / "internal-ssl" / "hub-ca_trust.crt"),
        cert=(str(own / "hub-internal.crt"), str(own / "hub-internal.key")),
    )
    assert known.status_code == 200 and "version" in known.json()


def test_the_port_for_claims_has_no_other_route(hub, job):
    url = f"https://{hub.address}:{hub.claim_port}/hub"
    context = {"timeout": 10, "verify": str(private_folder(job) / "ca.pem")}
    assert requests.get(f"{url}/login", **context).status_code == 404
    assert requests.get(f"{url}/api/", **context).status_code == 404
    assert requests.post(f"{url}/api/siflab/claim", data=b"{}", **context).status_code == 400
    with pytest.raises(requests.ConnectionError):  # the Hub's own port wants a certificate
        requests.get(f"https://{hub.address}:{hub.hub_port}/hub/api/", **context)


def test_a_restarted_hub_takes_up_what_runs_and_what_waits(hub, job):
    before = hub.notebook(ALICE).json()["started"]
    with Blocker():
        hub.spawn(BOB, profile="v100")
        wait_for(lambda: [j["state"] for j in hub.jobs(BOB)] == ["PENDING"], 30, "pending", hub.told)
        (waiting,) = hub.jobs(BOB)
        hub.kill()
        hub.start()
        hub.wait_ready(ALICE, timeout=30)
        assert hub.notebook(ALICE).json()["started"] == before, "the same server"
        wait_for(lambda: hub.server(BOB).get("pending") == "spawn", 30, "taken up again", hub.told)
    hub.wait_ready(BOB)
    assert [one["id"] for one in hub.jobs(BOB)] == [waiting["id"]]
    assert hub.notebook(BOB).json()["kernels"] == 0


def test_the_folder_goes_with_the_session(hub, job):
    folder = private_folder(job)
    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    wait_for(lambda: not folder.exists(), 30, "the private folder is gone")
