"""Sessions on the real cluster: start, stop, what is refused, what is told when it fails, and what stays secret."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import requests

from tests.cluster.hub import IMAGE, PYTHON, USERS, Blocker, running_hub, site, slurm, wait_for, why_not

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
ALICE, BOB = USERS[0], USERS[1]


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    data = site()
    common = {"partition": "cpu", "cpus": 1, "memory": "1G", "time": "0:30:00"}
    data["images"]["missing"] = {"path": "/nowhere/missing.sif", "title": "Missing", "python": PYTHON}
    data["images"]["no-python"] = {"path": IMAGE, "title": "No Python", "python": "/no/such/python"}
    data["profiles"]["missing"] = {**common, "title": "Missing image", "image": "missing"}
    data["profiles"]["no-python"] = {**common, "title": "Image without Python", "image": "no-python"}
    data["profiles"]["v100"] = {
        **common, "title": "V100", "image": "stock", "partition": "gpu-v100", "gpus": 1, "gpu_type": "v100",
    }  # fmt: skip
    yield from running_hub(tmp_path_factory.mktemp("hub"), data)


@pytest.fixture
def session(hub):
    """A session of ALICE that runs."""
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    yield hub
    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)


def test_a_session_starts_and_answers_through_the_proxy(hub):
    hub.spawn(ALICE, profile="a100", gpus=1)
    hub.wait_ready(ALICE)
    assert hub.notebook(ALICE).json()["kernels"] == 0
    (job,) = hub.jobs(ALICE)
    assert job["state"] == "RUNNING"
    assert job["comment"].startswith(f"siflab:{hub.site['name']}:{ALICE}::")
    shown = slurm("scontrol", "--oneliner", "show", "job", job["id"])
    assert "Requeue=0" in shown and "gres" in shown and f"UserId={ALICE}(" in shown

    hub.stop_server(ALICE)
    hub.wait_stopped(ALICE)
    assert hub.jobs(ALICE) == []
    assert hub.notebook(ALICE).status_code in (302, 424, 503), "there is no route any more"


def test_the_session_knows_what_it_is(session):
    kernel = _run(session, ALICE, "import os, json; print(json.dumps([open('/run/siflab/session.json').read(), "
                  "open('/run/siflab/site.json').read(), dict(os.environ), os.getcwd()]))")  # fmt: skip
    facts, its_site, env, folder = json.loads(kernel)
    facts = json.loads(facts)
    (job,) = session.jobs(ALICE)
    assert (facts["user"], facts["server"], facts["job_id"], facts["node"]) == (ALICE, "", job["id"], job["node"])
    assert (facts["profile"], facts["image_id"], facts["image_path"]) == ("cpu", "stock", IMAGE)
    assert facts["resources"]["partition"] == "cpu"
    assert facts["ends_at"] > facts["started_at"]
    assert json.loads(its_site)["name"] == session.site["name"]
    home = facts["home_inside"]
    assert folder == home and env["HOME"] == home
    assert env["SIFLAB_SESSION"] == "/run/siflab/session.json"
    assert "SIFLAB_TEST_SECRET" not in env, "nothing of the Hub's own environment reaches the job"


def test_two_users_on_one_node(session):
    session.spawn(BOB, profile="cpu")
    session.wait_ready(BOB)
    try:
        nodes = {job["node"] for job in session.jobs()}
        assert len(session.jobs()) == 2 and len(nodes) == 1
        assert session.notebook(ALICE, "api/me").json()["identity"]["username"] == ALICE
        assert session.notebook(BOB, "api/me").json()["identity"]["username"] == BOB
    finally:
        session.stop_server(BOB)
        session.wait_stopped(BOB)


def test_stop_while_it_waits_in_the_queue(hub):
    with Blocker():
        assert hub.spawn(ALICE, profile="v100").status_code == 202
        wait_for(lambda: [j["state"] for j in hub.jobs(ALICE)] == ["PENDING"], 30, "pending", hub.told)
        stream = hub.session.get(f"{hub.url}/hub/api/users/{ALICE}/server/progress", stream=True, timeout=60)
        words = next(m for m in _messages(stream) if "waits in the queue" in m)
        assert "Resources" in words or "Priority" in words or "not looked at it" in words
        assert hub.stop_server(ALICE).status_code in (202, 204)
        hub.wait_stopped(ALICE)
        assert hub.jobs(ALICE) == []


def test_a_job_that_dies_at_once_says_why(hub):
    hub.spawn(ALICE, profile="no-python")
    last = hub.events(ALICE)[-1]
    assert last["failed"] is True
    assert "/no/such/python" in last["message"], "the last lines of the job's log are shown"
    assert re.search(r"did not start|ended|could not", last["message"])
    hub.wait_stopped(ALICE)
    assert hub.jobs(ALICE) == []


def test_a_job_that_is_cancelled_while_it_starts_says_so(hub):
    hub.spawn(ALICE, profile="cpu")
    (job,) = wait_for(lambda: hub.jobs(ALICE), 30, "submitted", hub.told)
    slurm("scancel", job["id"])
    last = hub.events(ALICE)[-1]
    assert last["failed"] is True and f"ob {job['id']}" in last["message"] and "cancelled by root" in last["message"]
    hub.wait_stopped(ALICE)


def test_a_session_that_is_cancelled_from_outside_ends_with_a_notice(hub):
    hub.spawn(ALICE, profile="cpu")
    hub.wait_ready(ALICE)
    (job,) = hub.jobs(ALICE)
    slurm("scancel", job["id"])
    hub.wait_stopped(ALICE, timeout=60)
    page = _page(hub, ALICE, "hub/spawn")
    assert f"Job {job['id']} ended" in page and "cancelled by root" in page


REFUSED = [
    ({"profile": "nothing"}, "profile"),
    ({"profile": "a100", "gpus": 5}, "gpus"),
    ({"profile": "cpu", "gpus": 1}, "gpus"),
    ({"profile": "cpu", "time": "3:00:00"}, "time"),
    ({"profile": "cpu", "time": "soon"}, "time"),
    ({"profile": "cpu", "memory": "5G"}, "memory"),
    ({"profile": "cpu", "image": "other"}, "image"),
    ({"profile": "cpu", "partition": "gpu-a100"}, "partition"),
    ({"profile": "cpu", "req_prologue": "touch /tmp/x"}, "req_prologue"),
    ({"profile": ["cpu"]}, "profile"),
    ({"profile": "staff"}, "profile"),
    ({"profile": "missing"}, "image"),
]


@pytest.mark.parametrize(("options", "field"), REFUSED)
def test_the_rest_api_names_the_wrong_field_and_submits_nothing(hub, options, field):
    before = hub.log().count("siflab: submitted")
    answer = hub.spawn(BOB, **options)
    assert answer.status_code == 400
    message = answer.json()["message"]
    assert f"{field}: " in message
    assert re.search("[一-鿿]", message), "in both languages"
    assert hub.jobs(BOB) == [] and hub.log().count("siflab: submitted") == before


def test_the_form_shows_what_was_wrong(hub):
    page = _page(hub, BOB, "hub/spawn")
    assert 'value="a100"' in page and 'value="staff"' not in page
    page = _page(hub, BOB, "hub/spawn", {"profile": "cpu", "cpu.time": "3:00:00"}, "zh-CN")
    assert "3:00:00 超过此配置上限" in page and "is-invalid" in page and "仅 CPU" in page
    assert hub.jobs(BOB) == []


def test_nothing_secret_leaves_the_claim(session):
    (job,) = session.jobs(ALICE)
    tokens = _tokens_of_processes(job["id"])
    assert tokens, "the server has its token in its environment"
    script = Path(f"/tmp/siflab-test-{job['id']}.sh")
    try:
        slurm("scontrol", "write", "batch_script", job["id"], str(script))
        text = script.read_text()
    finally:
        script.unlink(missing_ok=True)
    assert "claim" in text
    places = {
        "script": text,
        "sacct script": slurm("sacct", "--batch-script", "--jobs", job["id"]),
        "sacct environment": slurm("sacct", "--env-vars", "--jobs", job["id"]),
        "Hub's log": session.log(),
        "job's log": Path(f"~{ALICE}/.siflab/sessions/{job['id']}.log").expanduser().read_text(),
        "arguments": subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout,
    }
    secret = f"must-not-leave-the-hub-{session.token}"
    found = [place for place, where in places.items() for token in (*tokens, secret) if token in where]
    assert found == []
    assert "SIFLAB_TEST_SECRET" not in places["sacct environment"]


def test_a_code_is_good_for_nothing_once_the_server_is_ready(session):
    (job,) = session.jobs(ALICE)

    def in_accounting():  # which lags behind
        text = slurm("sacct", "--batch-script", "--noheader", "--jobs", job["id"])
        return set(re.findall(r'"code": "([A-Za-z0-9_-]{43})"', _decoded(text)))

    codes = wait_for(in_accounting, 30, "the script carries the claim code")
    assert len(codes) == 1
    claim = {"user": ALICE, "server": "", "claimant": "c" * 32, "port": 5000, "job_id": job["id"], "node": job["node"]}
    api = f"http://{session.address}:{session.hub_port}/hub/api/siflab"
    for code in codes:
        assert requests.post(f"{api}/claim", json={**claim, "code": code}, timeout=10).status_code == 403
    assert requests.post(f"{api}/claim", data="x" * 5000, timeout=10).status_code == 400
    assert (
        requests.post(f"{api}/claim", json={**claim, "code": "a" * 43, "port": "5000"}, timeout=10).status_code == 400
    )
    old = requests.post(
        f"http://{session.address}:{session.hub_port}/hub/api/batchspawner", json={"port": 1}, timeout=10
    )
    assert old.status_code == 403


def _run(hub, user, code):
    """The standard output of `code` in a kernel of the user's server."""
    import websocket  # of jupyter_server's dependencies

    kernel = hub.notebook(user, "api/kernels", method="POST", json={"name": "python3"}).json()
    token = hub.api("POST", f"users/{user}/tokens", json={"note": "kernel"}).json()["token"]
    url = f"{hub.url}/user/{user}/api/kernels/{kernel['id']}/channels".replace("http", "ws", 1)
    channel = websocket.create_connection(url, header={"Authorization": f"token {token}"}, timeout=60)
    header = {"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": "", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    channel.send(
        json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
    )
    text = ""
    while True:
        message = json.loads(channel.recv())
        if message["msg_type"] == "stream":
            text += message["content"]["text"]
        if message["msg_type"] == "error":
            raise AssertionError(message["content"])
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle" and text:
            channel.close()
            return text


def _messages(stream):
    for line in stream.iter_lines():
        if line.startswith(b"data: "):
            yield json.loads(line[6:]).get("message", "")


def _page(hub, user, path, form=None, language="en"):
    """A page of the Hub as a browser sees it, or what it answers to a form."""
    browser = requests.Session()
    browser.headers["Accept-Language"] = language
    browser.get(f"{hub.url}/hub/login", timeout=30)
    xsrf = browser.cookies.get("_xsrf", path="/hub/")
    browser.post(f"{hub.url}/hub/login", data={"username": user, "password": "x", "_xsrf": xsrf}, timeout=30)
    answer = browser.get(f"{hub.url}/{path}", timeout=30)
    assert answer.url.startswith(f"{hub.url}/{path}"), answer.url
    if form is not None:
        xsrf = browser.cookies.get("_xsrf", path="/hub/")
        answer = browser.post(f"{hub.url}/{path}?_xsrf={xsrf}", data=form, timeout=30)
    answer.encoding = "utf-8"
    return answer.text


def _tokens_of_processes(job_id):
    """JUPYTERHUB_API_TOKEN of the processes of a job (nodes of the test cluster are this machine)."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/environ"):
        try:
            words = dict(word.partition("=")[::2] for word in file.read_text("utf-8", "replace").split("\0"))
        except OSError:
            continue
        if words.get("SLURM_JOB_ID") == job_id and words.get("JUPYTERHUB_API_TOKEN"):
            found.add(words["JUPYTERHUB_API_TOKEN"])
    return found


def _decoded(text):
    """The text, and what is in base64 in it."""
    import base64

    parts = [text]
    for word in re.findall(r"(?:[A-Za-z0-9+/=]{76}\n)+[A-Za-z0-9+/=]*", text):
        try:
            parts.append(base64.b64decode(word).decode("utf-8", "replace"))
        except ValueError:
            continue
    return "\n".join(parts)
