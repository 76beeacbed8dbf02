"""JupyterHub and its proxy as daemons of the instance: started, waited for until they answer, ended."""

import json
import shutil
import urllib.error
import urllib.request
from pathlib import Path

from cluster.instance.names import CHECKOUT, Instance
from cluster.instance.wheel import node_modules
from cluster.lab import processes
from cluster.lab.settings import kept_settings
from cluster.lab.trouble import Trouble
from siflab.text import Text

ROLE = "jupyterhub"
PROXY = CHECKOUT / "cluster" / "proxy"


def proxy_command(instance: Instance) -> Path:
    """A name of the instance's own for the proxy in the cache."""
    return instance.root / "configurable-http-proxy"


def install_proxy(instance: Instance) -> None:
    """configurable-http-proxy by npm, with the versions of cluster/proxy/package-lock.json."""
    program = node_modules(PROXY) / "node_modules" / ".bin" / "configurable-http-proxy"
    link = proxy_command(instance)
    link.unlink(missing_ok=True)
    link.symlink_to(program)


def settings(instance: Instance) -> dict[str, object]:
    """What jupyterhub_config.py reads from SIFLAB_HUB_SETTINGS."""
    cluster = kept_settings(instance.root / "slurm") or instance.cluster()
    return {
        "public_url": instance.public_url,
        "hub_bind_url": f"http://{cluster.head_address}:{instance.hub_port}",
        "proxy_api_url": f"http://127.0.0.1:{instance.proxy_api_port}",
        "proxy_command": [str(proxy_command(instance))],
        "data_dir": str(instance.hub / "data"),
        "admin_users": [member.name for member in instance.members if member.name == "teacher1"],
    }


def environment(instance: Instance) -> dict[str, str]:
    node = shutil.which("node")
    folders = [str(instance.venv / "bin"), *([str(Path(node).parent)] if node else []), processes.PATH]
    return {
        "PATH": ":".join(folders),
        "LC_ALL": "C.UTF-8",
        "HOME": "/root",
        "SLURM_CONF": str(instance.cluster().conf),
        "SIFLAB_SITE": str(instance.site),
        "SIFLAB_HUB_SETTINGS": str(instance.hub / "settings.json"),
    }


def running(instance: Instance) -> int | None:
    """The Hub's pid; its proxy has the same mark."""
    for pid in processes.marked(instance.root, ROLE):
        try:
            if b"jupyterhub\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        except OSError:
            continue
    return None


def answers(instance: Instance) -> bool:
    """Whether the Hub answers through the proxy; the proxy alone answers 404 or 503."""
    try:
        with urllib.request.urlopen(f"{instance.public_url}/hub/api/", timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def state(instance: Instance, key: str) -> str:
    """By what a running Hub is judged to be the one that is wanted: code, site and settings."""
    return json.dumps([key, instance.site.read_text("utf-8"), settings(instance)])


def start(instance: Instance, key: str) -> None:
    """Start it, or start it again when the code or the site has changed; sessions live through that."""
    wanted, file = state(instance, key), instance.hub / "running"
    if running(instance) is not None and answers(instance) and file.exists() and file.read_text() == wanted:
        return
    stop(instance)
    instance.hub.mkdir(mode=0o700, exist_ok=True)
    data = instance.hub / "data"
    data.mkdir(mode=0o700, exist_ok=True)
    for stale in ("proxy.pid", "jupyterhub.pid"):
        (data / stale).unlink(missing_ok=True)  # the Hub would end whatever process has that number now
    (instance.hub / "settings.json").write_text(json.dumps(settings(instance), indent=1) + "\n")
    log = instance.log("jupyterhub")
    config = CHECKOUT / "jupyterhub_config.py"
    argv = [instance.venv / "bin" / "python", "-m", "jupyterhub", "-f", config]
    processes.start(instance.root, ROLE, argv, log, env=environment(instance))

    def ready() -> bool:
        if running(instance) is None:
            raise Trouble(
                Text("JupyterHub ended at its start.", "JupyterHub 启动后即退出。"),
                Text.plain(f"{log}:\n{processes.last_lines(log, 20)}"),
            )
        return answers(instance)

    processes.wait_until(Text("JupyterHub", "JupyterHub "), ready, 90, log)
    file.write_text(wanted)


def stop(instance: Instance) -> None:
    """The Hub ends its proxy; what is left of both is ended. Sessions are the cluster's and end with it."""
    pid = running(instance)
    if pid is not None:
        processes.stop([pid], 20)
    processes.stop(processes.marked(instance.root, ROLE), 5)
    (instance.hub / "running").unlink(missing_ok=True)
