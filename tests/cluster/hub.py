"""A Hub of its own for a test: a process with its own ports, database and site.yaml, on a cluster that is already there.

What it needs is taken from the environment, so that the same tests run on any cluster of `cluster/`:
    SLURM_CONF               the cluster
    SIFLAB_TEST_IMAGE        a SIF with stock JupyterHub and JupyterLab, nothing of Siflab in it
    SIFLAB_TEST_PYTHON       its Python inside                          /opt/jupyter/bin/python3
    SIFLAB_TEST_USERS        Linux users of the cluster                 "labuser1 labuser2 labuser3"
    SIFLAB_TEST_HUB_ADDRESS  an address of this machine that the nodes reach; the slurmctld's own if left out
    SIFLAB_TEST_BINDS        binds of site.yaml                         "/home:/workspace /scratch:/tmpdata /dataset:/datasets:ro"
    SIFLAB_TEST_CHP          the proxy                                  configurable-http-proxy
"""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import requests
import yaml

REPOSITORY = Path(__file__).parents[2]
USERS = os.environ.get("SIFLAB_TEST_USERS", "labuser1 labuser2 labuser3").split()
IMAGE = os.environ.get("SIFLAB_TEST_IMAGE", "")
PYTHON = os.environ.get("SIFLAB_TEST_PYTHON", "/opt/jupyter/bin/python3")
BINDS = os.environ.get("SIFLAB_TEST_BINDS", "/home:/workspace /scratch:/tmpdata /dataset:/datasets:ro").split()
PROXY = os.environ.get("SIFLAB_TEST_CHP", "configurable-http-proxy")


def why_not() -> str | None:
    """Why the tests cannot run here, or None."""
    if os.geteuid() != 0:
        return "the Hub of these tests runs as root"
    if not os.environ.get("SLURM_CONF") or not shutil.which("sbatch"):
        return "no cluster: SLURM_CONF is not set, or there is no sbatch"
    if not IMAGE or not Path(IMAGE).exists():
        return "no image: set SIFLAB_TEST_IMAGE"
    if not shutil.which(PROXY):
        return "no configurable-http-proxy: set SIFLAB_TEST_CHP"
    return None


def slurm(*argv: str, check: bool = True) -> str:
    """The standard output of a Slurm command."""
    return subprocess.run(argv, check=check, capture_output=True, text=True, timeout=60).stdout


def hub_address() -> str:
    """Where the nodes reach this machine: as they reach its slurmctld."""
    given = os.environ.get("SIFLAB_TEST_HUB_ADDRESS")
    if given:
        return given
    match = re.search(r"SlurmctldHost\[0\]\s*=\s*\S+?(?:\(([^)]+)\))?\s", slurm("scontrol", "show", "config"))
    assert match and match[1], "scontrol show config does not say slurmctld's address; set SIFLAB_TEST_HUB_ADDRESS"
    return match[1]


def free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return int(probe.getsockname()[1])


def site(**changes: Any) -> dict[str, Any]:
    """A site.yaml for the cluster, as data. `changes` replace whole top-level keys."""
    profile = {"image": "stock", "cpus": 1, "memory": "1G", "time": "0:30:00"}
    data: dict[str, Any] = {
        "version": 1,
        "name": "test-" + secrets.token_hex(3),
        "title": "Test",
        "slurm": {"conf": os.environ["SLURM_CONF"]},
        "singularity": {"binds": BINDS},
        "images": {"stock": {"path": IMAGE, "title": "Stock", "python": PYTHON}},
        "profiles": {
            "cpu": {
                **profile,
                "title": {"en": "CPU only", "zh": "仅 CPU"},
                "partition": "cpu",
                "allow": {"cpus": {"min": 1, "max": 4}, "memory": "4G", "time": "2:00:00"},
            },
            "a100": {
                **profile,
                "title": "A100",
                "partition": "gpu-a100",
                "gpus": 1,
                "gpu_type": "a100",
                "allow": {"gpus": {"min": 1, "max": 4}, "time": "2:00:00"},
            },
            "staff": {**profile, "title": "Staff", "partition": "cpu", "groups": ["staff"]},
        },
    }
    return {**data, **changes}


class Hub:
    """One Hub and its proxy. `start` again after `kill` is a restart on the same database."""

    def __init__(self, folder: Path, site_data: dict[str, Any], extra_config: str = "", python: str = "") -> None:
        self.folder, self.site, self.python = folder, site_data, python or sys.executable
        self.address = hub_address()
        self.port, self.hub_port, self.api_port = (
            free_port("127.0.0.1"),
            free_port(self.address),
            free_port("127.0.0.1"),
        )
        self.url = f"http://127.0.0.1:{self.port}"
        self.token = secrets.token_hex(16)
        self.log_file = folder / "hub.log"
        self.process: subprocess.Popen[bytes] | None = None
        self.session = requests.Session()
        self.session.headers["Authorization"] = f"token {self.token}"
        (folder / "site.yaml").write_text(yaml.safe_dump(site_data, allow_unicode=True, sort_keys=False), "utf-8")
        (folder / "settings.json").write_text(
            json.dumps(
                {
                    "public_url": self.url,
                    "hub_bind_url": f"http://{self.address}:{self.hub_port}",
                    "proxy_api_url": f"http://127.0.0.1:{self.api_port}",
                    "proxy_command": [PROXY],
                    "data_dir": str(folder / "data"),
                    "admin_users": [],
                }
            )
        )
        (folder / "jupyterhub_config.py").write_text(
            (REPOSITORY / "jupyterhub_config.py").read_text("utf-8")
            + f"""
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "siflab_spawner.SingularitySlurmSpawner"
c.JupyterHub.services += [{{"name": "test", "api_token": "{self.token}"}}]
c.JupyterHub.load_roles += [{{"name": "test", "services": ["test"],
    "scopes": ["admin:users", "admin:servers", "access:servers", "tokens", "groups", "list:users"]}}]
c.JupyterHub.log_level = 10
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 1}}
{extra_config}
""",
            "utf-8",
        )

    def start(self, **environment: str) -> None:
        env = {name: os.environ[name] for name in ("PATH", "SLURM_CONF", "LANG") if name in os.environ}
        env["PYTHONPATH"] = os.pathsep.join(
            [str(REPOSITORY), str(REPOSITORY / "spawner"), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        )
        env.update(
            SIFLAB_SITE=str(self.folder / "site.yaml"), SIFLAB_HUB_SETTINGS=str(self.folder / "settings.json"),
            SIFLAB_TEST_SECRET="must-not-leave-the-hub-" + self.token, **environment,
        )  # fmt: skip
        self.process = subprocess.Popen(
            [self.python, "-m", "jupyterhub", "-f", str(self.folder / "jupyterhub_config.py")],
            env=env,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=self.log_file.open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        wait_for(lambda: self._answers(), 60, "the Hub answers", self.told)

    def _answers(self) -> bool:
        assert self.process and self.process.poll() is None, "the Hub ended:\n" + self.log()[-4000:]
        try:
            return self.session.get(f"{self.url}/hub/api/", timeout=5).status_code == 200
        except requests.ConnectionError:
            return False

    def kill(self) -> None:
        """SIGKILL to the Hub alone; its proxy and the jobs go on."""
        assert self.process
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """End Hub and proxy, and whatever jobs of this Hub are left."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        pid_file = self.folder / "data" / "proxy.pid"
        if pid_file.exists():
            try:
                os.kill(int(pid_file.read_text()), signal.SIGTERM)
            except ProcessLookupError:
                pass
        for job in self.jobs():
            slurm("scancel", job["id"], check=False)

    def log(self) -> str:
        return self.log_file.read_text("utf-8", "replace") if self.log_file.exists() else ""

    def told(self) -> str:
        """The log without what is said at every request."""
        lines = (line for line in self.log().splitlines() if not line.startswith("[D ") and " 200 GET " not in line)
        return "\n".join(lines)

    # ---- JupyterHub's REST API

    def api(self, method: str, path: str, **kwargs: Any) -> requests.Response:
        return self.session.request(method, f"{self.url}/hub/api/{path}", timeout=60, **kwargs)

    def server_path(self, user: str, name: str = "") -> str:
        return f"users/{user}/servers/{name}" if name else f"users/{user}/server"

    def add_user(self, user: str) -> None:
        self.api("POST", f"users/{user}")

    def spawn(self, user: str, name: str = "", **options: Any) -> requests.Response:
        self.add_user(user)
        return self.api("POST", self.server_path(user, name), json=options)

    def stop_server(self, user: str, name: str = "") -> requests.Response:
        return self.api("DELETE", self.server_path(user, name))

    def server(self, user: str, name: str = "") -> dict[str, Any]:
        model = self.api("GET", f"users/{user}?include_stopped_servers").json()
        return model.get("servers", {}).get(name, {})

    def is_ready(self, user: str, name: str = "") -> bool:
        return bool(self.server(user, name).get("ready"))

    def wait_ready(self, user: str, name: str = "", timeout: float = 90) -> None:
        wait_for(lambda: self.is_ready(user, name), timeout, f"the server of {user} is ready", self.told)

    def wait_stopped(self, user: str, name: str = "", timeout: float = 90) -> None:
        def stopped() -> bool:
            model = self.server(user, name)
            return not model.get("ready") and not model.get("pending")

        wait_for(stopped, timeout, f"the server of {user} is stopped", self.told)

    def events(self, user: str, name: str = "", timeout: float = 90) -> list[dict[str, Any]]:
        """The progress events of a start, to its end."""
        found = []
        path = f"{self.url}/hub/api/{self.server_path(user, name)}/progress"
        with self.session.get(path, stream=True, timeout=timeout) as stream:
            for line in stream.iter_lines():
                if line.startswith(b"data: "):
                    found.append(json.loads(line[6:]))
                    if found[-1].get("ready") or found[-1].get("failed"):
                        break
        return found

    def notebook(
        self, user: str, path: str = "api/status", name: str = "", method: str = "GET", **kwargs: Any
    ) -> requests.Response:
        """A request to the user's server, through the proxy, with a token of the user."""
        made = self.api("POST", f"users/{user}/tokens", json={"note": "test"}).json()
        base = f"{self.url}/user/{user}/{name + '/' if name else ''}{path}"
        headers = {"Authorization": f"token {made['token']}"}
        return requests.request(method, base, headers=headers, timeout=30, allow_redirects=False, **kwargs)

    # ---- its jobs in Slurm

    def jobs(self, user: str | None = None) -> list[dict[str, str]]:
        """Living jobs of this Hub's site: id, state, user, node, comment."""
        rows = slurm("squeue", "--noheader", "--format=%A|%T|%u|%B|%k").splitlines()
        fields = [row.split("|", 4) for row in rows]
        keys = ("id", "state", "user", "node", "comment")
        mine = f"siflab:{self.site['name']}:"
        found = [dict(zip(keys, row, strict=True)) for row in fields if len(row) == 5 and row[4].startswith(mine)]
        return [job for job in found if user in (None, job["user"])]


def wait_for(condition: Any, timeout: float, what: str, details: Any = None, pause: float = 0.1) -> Any:
    """The first true value of `condition`; an event of another process can only be asked for."""
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        value = condition()
        if value:
            return value
        time.sleep(pause)
    raise AssertionError(f"not within {timeout} s: {what}" + (f"\n{details()[-6000:]}" if details else ""))


def running_hub(folder: Path, site_data: dict[str, Any] | None = None, extra_config: str = "", python: str = "") -> Any:
    """For a fixture: a Hub that runs, and is cleared away with its jobs. `python` has another JupyterHub."""
    hub = Hub(folder, site_data or site(), extra_config, python)
    hub.start()
    try:
        yield hub
    finally:
        hub.stop()


class SlurmFolder:
    """A folder for `slurm.bin` of site.yaml with Slurm's commands, each of which a test can make misbehave.

    `break_(name, text, code)`: the command prints `text` and exits with `code`. `hold(name)`: it runs, then does not answer
    before `release(name)`; `hold_before(name)`: it does not even begin. It lies where ordinary users can enter.
    """

    NAMES = ("sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.chmod(0o755)
        for name in self.NAMES:
            program = folder / name
            program.write_text(
                f"""#!/bin/bash
here={folder}
if [ -e "$here/{name}.broken" ]; then cat "$here/{name}.text" >&$(cat "$here/{name}.fd"); exit "$(cat "$here/{name}.broken")"; fi
if [ -e "$here/{name}.before" ]; then
    : > "$here/held/{name}"
    for ((i = 0; i < 600; i++)); do [ -e "$here/{name}.before" ] || break; sleep 0.1; done
fi
answer=$({shutil.which(name)} "$@"); code=$?
if [ -e "$here/{name}.hold" ]; then
    : > "$here/held/{name}"
    for ((i = 0; i < 600; i++)); do [ -e "$here/{name}.hold" ] || break; sleep 0.1; done
fi
[ -z "$answer" ] || printf '%s\\n' "$answer"
exit $code
"""
            )
            program.chmod(0o755)
        (folder / "held").mkdir()
        (folder / "held").chmod(0o1777)

    def break_(self, name: str, text: str, code: int) -> None:
        (self.folder / f"{name}.text").write_text(text)
        (self.folder / f"{name}.fd").write_text("2" if code else "1")
        (self.folder / f"{name}.broken").write_text(str(code))

    def mend(self, name: str) -> None:
        (self.folder / f"{name}.broken").unlink()

    def hold(self, name: str) -> None:
        (self.folder / f"{name}.hold").touch()

    def hold_before(self, name: str) -> None:
        (self.folder / f"{name}.before").touch()

    def is_held(self, name: str) -> bool:
        return (self.folder / "held" / name).exists()

    def release(self, name: str) -> None:
        for kind in ("hold", "before"):
            (self.folder / f"{name}.{kind}").unlink(missing_ok=True)
        (self.folder / "held" / name).unlink()


class Blocker:
    """A job of another researcher that takes both V100, so that a session on one has to wait."""

    def __enter__(self) -> "Blocker":
        command = ["sbatch", "--parsable", "--partition=gpu-v100", "--gres=gpu:v100:2", "--mem=100", "--time=30",
                   "--output=/dev/null", "--wrap=sleep 1800"]  # fmt: skip
        done = subprocess.run(["runuser", "-u", USERS[1], "--", "env", f"SLURM_CONF={os.environ['SLURM_CONF']}", *command],
                              check=True, capture_output=True, text=True, cwd="/")  # fmt: skip
        self.job = done.stdout.strip()
        state = ["squeue", "--noheader", "--jobs", self.job, "--format=%T"]
        try:
            wait_for(lambda: slurm(*state).strip() == "RUNNING", 60, "the blocker runs")
        except AssertionError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        slurm("scancel", self.job, check=False)
