"""A person's own packages on the real cluster: made on a login node and in a session of an image without Siflab, used by
a session and by a run, and rebuilt when the image is another one. The packages are wheels that the test makes."""

import json
import secrets
import shutil
from pathlib import Path

import pytest

from tests.cluster.hub import BINDS, IMAGE, PYTHON, USERS, running_hub, site, why_not
from tests.cluster.person import Person, texts
from tests.unit.environments.conftest import write_wheel

pytestmark = [pytest.mark.cluster, pytest.mark.skipif(why_not() is not None, reason=str(why_not()))]
USER = USERS[1]
TOKEN = secrets.token_hex(3)
LOGIN, INSIDE = f"login-{TOKEN}", f"inside-{TOKEN}"


@pytest.fixture(scope="module")
def scratch():
    """A folder of all users on the site's scratch, on the host."""
    source = next(bind.split(":")[0] for bind in BINDS if bind.split(":")[1] == "/tmpdata")
    folder = Path(source) / f"siflab-environments-{TOKEN}"
    folder.mkdir()
    folder.chmod(0o1777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def later_image(tmp_path_factory):
    """The same image in a later state: some bytes behind what is read of it."""
    folder = Path(f"/var/tmp/siflab-test-{TOKEN}")
    folder.mkdir(mode=0o755)
    image = folder / "later.sif"
    shutil.copyfile(IMAGE, image)
    with image.open("ab") as stream:
        stream.write(b"a later build")
    yield image
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def data(scratch, later_image):
    made = site(environments={"scratch": str(scratch)}, runs={"root": f"~/siflab-test-{TOKEN}/runs"})
    made["images"]["later"] = {"path": str(later_image), "title": "Later", "python": PYTHON}
    made["profiles"]["cpu"]["allow"]["image"] = ["later"]
    return made


@pytest.fixture(scope="module")
def person(data):
    """At a login node; pip's own configuration names a folder of wheels, which jobs see as well."""
    someone = Person(USER, data)
    wheels = someone.folder / "wheels"
    someone.run_as(["mkdir", str(wheels)])
    for version in ("1.0", "1.1"):
        write_wheel(wheels, "siflabtiny", version)
    yield someone
    for name in (LOGIN, INSIDE):
        for image in (someone.home / ".siflab/environments" / name).glob("*"):
            someone.siflab("env", "remove", name, "--id", image.name)
    someone.leave()


@pytest.fixture(scope="module")
def hub(tmp_path_factory, data):
    yield from running_hub(tmp_path_factory.mktemp("hub"), data)


def pip(someone):
    """Variables for pip, in a container: the wheels are below the home."""
    inside = someone.folder.relative_to(someone.home.parent)
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"/workspace/{inside}/wheels"}


def env(someone, *words, code=0):
    done = someone.siflab("env", *words, **pip(someone))
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def execute(hub, code, kernel="python3"):
    """What `code` prints in a new kernel of the user's server."""
    import websocket

    made = hub.notebook(USER, "api/kernels", method="POST", json={"name": kernel}).json()
    token = hub.api("POST", f"users/{USER}/tokens", json={"note": "kernel"}).json()["token"]
    url = f"{hub.url}/user/{USER}/api/kernels/{made['id']}/channels".replace("http", "ws", 1)
    channel = websocket.create_connection(url, header={"Authorization": f"token {token}"}, timeout=120)
    header = {"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": "", "version": "5.3"}
    content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
    channel.send(
        json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": "shell"})
    )
    printed = ""
    while True:
        message = json.loads(channel.recv())
        if message["msg_type"] == "stream":
            printed += message["content"]["text"]
        if message["msg_type"] == "error":
            raise AssertionError(message["content"])
        answers = message.get("parent_header", {}).get("msg_id") == "1"
        if answers and message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            channel.close()
            hub.notebook(USER, f"api/kernels/{made['id']}", method="DELETE")
            return printed


def specs(hub):
    return hub.notebook(USER, "api/kernelspecs").json()["kernelspecs"]


def test_from_the_login_node_to_a_session_and_back(person, hub, scratch):
    assert "is ready: 1 packages" in env(person, "create", LOGIN, "siflabtiny==1.0")
    assert [path.name for path in (scratch / USER).iterdir()] == [LOGIN], "on scratch, as the site prefers"

    hub.spawn(USER, profile="cpu")
    hub.wait_ready(USER)
    try:
        assert specs(hub)[f"siflab-{LOGIN}"]["spec"]["display_name"] == f"{LOGIN} (my packages on Stock)"
        show = "import siflabtiny, notebook_shim, sys; print(siflabtiny.VERSION, sys.prefix)"
        show = show.replace("notebook_shim", "jupyterlab")  # the image's packages lie below
        printed = execute(hub, show, f"siflab-{LOGIN}")
        assert printed.startswith(f"1.0 /tmpdata/{scratch.name}/{USER}/{LOGIN}/")

        settings = "".join(f"{name}={value} " for name, value in pip(person).items())
        said = execute(hub, f"!{settings} siflab env create {INSIDE} siflabtiny --root home 2>&1; siflab env list 2>&1")
        assert f"{INSIDE} is ready" in said.replace("the environment ", ""), said
        assert f"siflab-{INSIDE}" in specs(hub), "there without a restart of the server"
        assert execute(hub, "import siflabtiny; print(siflabtiny.VERSION)", f"siflab-{INSIDE}") == "1.1\n"
        assert "only `siflab env` works here" in execute(hub, "!siflab promote x.ipynb 2>&1")
    finally:
        hub.stop_server(USER)
        hub.wait_stopped(USER)
    listed = env(person, "list")
    assert LOGIN in listed and INSIDE in listed


def test_a_run_uses_it_says_what_was_in_it_and_refuses_another_image(person):
    if LOGIN not in env(person, "list"):
        env(person, "create", LOGIN, "siflabtiny==1.0")
    kernelspec = {"name": f"siflab-{LOGIN}", "display_name": "mine", "language": "python"}
    notebook = person.notebook(
        "own.ipynb",
        "import siflabtiny, sys\nprint(siflabtiny.VERSION, sys.prefix)",
        metadata={"kernelspec": kernelspec},
    )
    run = person.promote(notebook, "--profile", "cpu", "--wait")
    assert run["state"] == "completed", person.siflab("logs", run["id"]).stdout
    assert texts(person.output(run), 0).startswith("1.0 /tmpdata/")
    record = json.loads((Path(run["folder"]) / "environment.json").read_text())
    assert (record["installed"], record["packages"]) == (["siflabtiny==1.0"], ["siflabtiny==1.0"])

    refused = person.siflab("promote", str(notebook), "--profile", "cpu", "--image", "later")
    assert refused.returncode == 2
    assert f"siflab env --image later rebuild {LOGIN}" in refused.stderr
    assert "for another image" in env(person, "--image", "later", "list")
    rebuilt = env(person, "--image", "later", "rebuild", LOGIN)
    assert "all versions are as they were" in rebuilt
    assert "say with --id" in env(person, "remove", LOGIN, code=2), "the old one stays"
    again = person.promote(notebook, "--profile", "cpu", "--image", "later", "--wait")
    assert again["state"] == "completed", person.siflab("logs", again["id"]).stdout


def test_what_cannot_be_installed_is_said_in_the_readers_language(person):
    done = person.siflab("env", "create", INSIDE + "x", "no-such-package", LANG="zh_CN.UTF-8", **pip(person))
    assert done.returncode == 2
    assert "没有软件包 no-such-package" in done.stderr
    assert INSIDE + "x" not in env(person, "list")
