"""The cluster of these measurements, Slurm's commands as they are counted, and the two Hubs."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cluster.instance import venv
from cluster.instance.names import CHECKOUT, STATE, TEST
from cluster.lab import people, processes, whole
from cluster.lab.settings import Member, Node, Settings

ROOT = STATE / "bench"
COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "scontrol", "sinfo", "sacctmgr")
USERS = tuple(f"b-user{number}" for number in range(1, 201))  # a course has as many people as sessions
PYTHON = "/opt/jupyter/bin/python3"
IMAGE = TEST.image("stock")
LIGHT = f"{ROOT}/light_server.py"
BATCHSPAWNER = ROOT / "batchspawner"  # in the image
PEERS_VENV = ROOT / "venv"


def settings() -> Settings:
    """As many claimed processors as 250 sessions of one need."""
    return Settings(
        root=ROOT / "slurm",
        name="bench",
        port_base=27500,
        network=44,
        nodes=tuple(Node(f"b{number:02}", 64, 256000, None, 0) for number in range(1, 5)),
        members=tuple(Member(name, ("research",)) for name in USERS),
    )


@contextmanager
def cluster() -> Iterator[Settings]:
    """Up meanwhile. The environment of this process speaks to it, and so do the Hubs of tests.cluster.hub."""
    ROOT.mkdir(parents=True, exist_ok=True)
    ROOT.chmod(0o755)
    shutil.copyfile(Path(__file__).with_name("light_server.py"), LIGHT)
    Path(LIGHT).chmod(0o755)
    wanted = settings()
    with whole.alone(wanted.root):
        whole.up(wanted, lambda _: None)
    wanted = kept(wanted)
    for pid in processes.marked(wanted.root):
        if Path(f"/proc/{pid}/comm").read_text().startswith("slurmd"):
            os.setpriority(os.PRIO_PROCESS, pid, 19)  # elsewhere the Hub has a machine of its own; jobs inherit this
    venv.fill(PEERS_VENV, ["jupyterhub", "batchspawner==1.3.0", "wrapspawner"], venv.CONSTRAINTS.read_text())
    if not BATCHSPAWNER.exists():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", BATCHSPAWNER]
        subprocess.run([*pip, "batchspawner==1.3.0"], check=True)
        subprocess.run(["chmod", "-R", "a+rX", BATCHSPAWNER], check=True)
    os.environ.update(
        SLURM_CONF=str(wanted.conf),
        SIFLAB_TEST_HUB_ADDRESS=wanted.head_address,
        SIFLAB_TEST_IMAGE=str(IMAGE),
        SIFLAB_TEST_PYTHON=PYTHON,
        SIFLAB_TEST_USERS=" ".join(USERS),
        SIFLAB_TEST_BINDS=f"/home:/workspace {ROOT}:{ROOT}:ro",
        SIFLAB_TEST_CHP=str(TEST.root / "configurable-http-proxy"),
    )
    subprocess.run(["scancel", "--quiet", "--partition=cpu"], check=False)  # of a run that was cut off
    try:
        with priorities_count():
            yield wanted
    finally:
        with whole.alone(wanted.root):
            whole.down(wanted)
        for user in USERS:
            people.remove_user(user)


@contextmanager
def priorities_count() -> Iterator[None]:
    """With the kernel's autogroups (sched(7)) a priority counts only within a session's processes, and each job on the
    nodes is a session: fifty of them would take 50 of 51 parts of the Hub's processor."""
    switch = Path("/proc/sys/kernel/sched_autogroup_enabled")
    before = switch.read_text() if switch.exists() else "0"
    try:
        if before.strip() != "0":
            switch.write_text("0")
        yield
    finally:
        if before.strip() != "0":
            switch.write_text(before)


def kept(wanted: Settings) -> Settings:
    from cluster.lab.settings import kept_settings

    return kept_settings(wanted.root) or wanted


class Counted:
    """A folder with Slurm's commands, each of which writes down that it ran."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "count"
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
        for name in COMMANDS:
            program = folder / name
            program.write_text(f'#!/bin/sh\necho {name} >> {self.file}\nexec {shutil.which(name)} "$@"\n')
            program.chmod(0o755)
        self.reset()

    def reset(self) -> None:
        self.file.write_text("")
        self.file.chmod(0o666)

    def counts(self) -> Counter[str]:
        return Counter(self.file.read_text().split())


def rpcs() -> int:
    """How many questions slurmctld was asked since its start, as `sdiag` counts them."""
    shown = subprocess.run(["sdiag"], capture_output=True, text=True, check=True).stdout
    lines = shown.partition("Remote Procedure Call statistics by message type")[2].partition("Remote Procedure")[0]
    return sum(int(line.split("count:")[1].split()[0]) for line in lines.splitlines() if "count:" in line)


def site(bin_folder: Path | None = None, cpus: int = 1, memory: str = "1G") -> dict[str, object]:
    """site.yaml: one profile."""
    from tests.cluster import hub

    data = hub.site()
    profile = {"image": "stock", "partition": "cpu", "cpus": cpus, "memory": memory, "time": "0:30:00", "title": "CPU"}
    data["profiles"] = {"cpu": profile}
    if bin_folder is not None:
        data["slurm"]["bin"] = str(bin_folder)
    return data


def light() -> str:
    """Configuration of our Hub: the light server in the place of Jupyter."""
    return f"""
c.SingularitySlurmSpawner.cmd = ["{PYTHON}", "{LIGHT}"]
c.SingularitySlurmSpawner.args = []
c.JupyterHub.named_server_limit_per_user = 0
c.JupyterHub.log_level = 20
"""


def batchspawner_config(bin_folder: Path, server: str = "/opt/jupyter/bin/jupyterhub-singleuser") -> str:
    """Configuration of a Hub with batchspawner itself, for the same image and the same resources. A node's name becomes
    its address, which batchspawner does not ask Slurm for."""
    prefix = "runuser -u {username} -- "
    return f"""
import batchspawner
c.JupyterHub.spawner_class = "batchspawner.SlurmSpawner"
c.JupyterHub.allow_named_servers = True
c.JupyterHub.concurrent_spawn_limit = 0
c.JupyterHub.named_server_limit_per_user = 0
c.JupyterHub.log_level = 20
c.Spawner.cmd = ["{server}"]
c.Spawner.http_timeout = 120
c.Spawner.start_timeout = 120
c.Spawner.env_keep = ["PATH", "LANG", "SLURM_CONF"]
c.BatchSpawnerBase.exec_prefix = ""
c.BatchSpawnerBase.batchspawner_singleuser_cmd = "env PYTHONPATH={BATCHSPAWNER} {PYTHON} -m batchspawner.singleuser"
c.SlurmSpawner.batch_submit_cmd = "{prefix}{bin_folder}/sbatch --parsable"
c.SlurmSpawner.batch_query_cmd = "{prefix}{bin_folder}/squeue -h -j {{job_id}} -o '%T %B'"
c.SlurmSpawner.batch_cancel_cmd = "{prefix}{bin_folder}/scancel {{job_id}}"
c.SlurmSpawner.state_exechost_re = r"\\s+b0(\\d)$"
c.SlurmSpawner.state_exechost_exp = r"{kept(settings()).prefix}.1\\1"
c.SlurmSpawner.batch_script = '''#!/bin/bash
#SBATCH --partition=cpu
#SBATCH --cpus-per-task=1
#SBATCH --mem=1G
#SBATCH --time=30
#SBATCH --chdir={{{{homedir}}}}
#SBATCH --output={{{{homedir}}}}/batchspawner-%j.log
#SBATCH --export={{{{keepvars}}}}
exec singularity exec --bind /home:/workspace --bind {ROOT}:{ROOT}:ro {IMAGE} {{{{cmd}}}}
'''
"""


def batchspawners_hub(name: str, bin_folder: Path, **options: str) -> Any:
    """A Hub with nothing of ours but the ports and names of the harness. Its environment has no Siflab: JupyterHub
    loads every spawner that is installed, and ours replaces batchspawner's route."""
    from tests.cluster.hub import PROXY, Hub

    hub = Hub(folder(name), site(), python=str(PEERS_VENV / "bin" / "python"))
    data = hub.folder / "data"
    data.mkdir(mode=0o700)
    (hub.folder / "jupyterhub_config.py").write_text(f"""
c.JupyterHub.bind_url = "{hub.url}"
c.JupyterHub.hub_bind_url = "http://{hub.address}:{hub.hub_port}"
c.JupyterHub.db_url = "sqlite:///{data}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = "{data}/cookie_secret"
c.ConfigurableHTTPProxy.command = ["{PROXY}"]
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{hub.api_port}"
c.ConfigurableHTTPProxy.pid_file = "{data}/proxy.pid"
c.JupyterHub.authenticator_class = "dummy"
c.Authenticator.allow_all = True
c.JupyterHub.tornado_settings = {{"slow_spawn_timeout": 1}}
c.JupyterHub.services = [{{"name": "test", "api_token": "{hub.token}"}}]
c.JupyterHub.load_roles = [{{"name": "test", "services": ["test"],
    "scopes": ["admin:users", "admin:servers", "access:servers", "tokens", "list:users"]}}]
{batchspawner_config(bin_folder, **options)}
""")
    return hub


def folder(name: str) -> Path:
    """A new folder for a Hub."""
    made = ROOT / "hubs" / name
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    return made


__all__ = ["CHECKOUT", "Counted", "batchspawners_hub", "cluster", "folder", "light", "rpcs", "site"]
