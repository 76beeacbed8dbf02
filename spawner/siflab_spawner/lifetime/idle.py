"""Sessions that nobody uses are stopped: what JupyterHub's idle culler needs for that, and what the person is told.

What counts as use is found out in the session (`siflab.node.activity`) and told to JupyterHub, whose own two sources
count the requests of every open page and so are off: the server's reports (`JUPYTERHUB_ACTIVITY_INTERVAL`), and the
proxy's (`QuietProxy`).
"""

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from jupyterhub.proxy import ConfigurableHTTPProxy

from siflab.config import Site, site_path
from siflab.config.session_rules import IdleSite
from siflab.slurm.time import format_time
from siflab.text import Text
from siflab_spawner import metrics
from siflab_spawner.notices import leave_notice

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_NAME = "siflab-idle-culler"
_DEFAULT = IdleSite(after="0:30:00")  # where nothing is culled use is reported all the same: it is shown to admins
SCOPES = ["list:users", "read:users:activity", "read:servers", "delete:servers"]


class QuietProxy(ConfigurableHTTPProxy):
    """JupyterHub's own proxy, whose word on who is active is not listened to."""

    async def get_all_routes(self) -> Any:
        routes = await super().get_all_routes()
        for route in routes.values():
            route["data"].pop("last_activity", None)
        return routes


def services(site: Site, certificates: str | None = None) -> list[dict[str, Any]]:
    """For `JupyterHub.services`: the culler, where site.yaml has `session.idle`. `certificates`: JupyterHub's
    `internal_certs_location`, where internal_ssl is on."""
    if site.session.idle is None:
        return []
    environment = {"SIFLAB_SITE": str(site_path())}
    if "PYTHONPATH" in os.environ:
        environment["PYTHONPATH"] = os.environ["PYTHONPATH"]
    command = [sys.executable, "-m", "siflab_spawner.lifetime.culler"]
    if certificates:
        command += ["--ssl-enabled=true", f"--internal-certs-location={certificates}"]
    return [{"name": _NAME, "command": command, "environment": environment}]


def roles(site: Site) -> list[dict[str, Any]]:
    """For `JupyterHub.load_roles`."""
    return [] if site.session.idle is None else [{"name": _NAME, "services": [_NAME], "scopes": SCOPES}]


def limit_of(site: Site, idle: IdleSite, options: Any) -> int:
    """Seconds that a server with these user options, which `note_gpus` completed, may be unused."""
    chosen: Mapping[str, Any] = options if isinstance(options, Mapping) else {}
    profile = site.profiles.get(str(chosen.get("profile", "")))
    gpus = chosen.get("gpus")
    if gpus in (None, ""):
        gpus = profile.gpus if profile is not None else 0
    return idle.limit(0 if str(gpus) == "0" else 1)


def note_gpus(spawner: "SingularitySlurmSpawner", gpus: int) -> None:
    """The culler, a process of its own, sees of a server only its user options: where they do not say whether it has
    GPUs (no option at all, the key of a wrapper's profile), this is added to them."""
    idle, owner = spawner.site.session.idle, spawner.owner
    options = owner.user_options or {}
    if idle is not None and limit_of(spawner.site, idle, options) != idle.limit(gpus):
        owner.user_options = owner.orm_spawner.user_options = {**options, "gpus": gpus}


def activity_environment(site: Site) -> dict[str, str]:
    """For a session's server and its shim."""
    idle = site.session.idle or _DEFAULT
    settings = {"interval": idle.looks, "cpu": idle.cpu_percent, "gpu": idle.gpu_percent}
    return {"JUPYTERHUB_ACTIVITY_INTERVAL": "0", "SIFLAB_ACTIVITY": json.dumps(settings)}


def began(spawner: "SingularitySlurmSpawner") -> None:
    """Its server is ready: JupyterHub counts from the moment when Start was pressed, which may be hours ago."""
    spawner.owner.orm_spawner.last_activity = datetime.now(timezone.utc).replace(tzinfo=None)


@contextlib.contextmanager
def told(spawner: "SingularitySlurmSpawner") -> Iterator[None]:
    """Around the end of a session: if nobody used it the spawn page says so, whatever its job said meanwhile."""
    words = why_stopped(spawner)
    yield
    if words is not None:
        metrics.IDLE.inc()
        spawner.log.info("siflab: %s was idle", spawner._log_name)
        leave_notice(spawner.user.name, spawner.name, words)


def why_stopped(spawner: "SingularitySlurmSpawner") -> Text | None:
    """What to tell the person when their session is stopped after it was unused for as long as the site allows; None
    when it was in use. JupyterHub does not say who stops it."""
    idle, last = spawner.site.session.idle, spawner.owner.orm_spawner.last_activity
    if idle is None or spawner.session.phase != "ready" or last is None:
        return None
    resources = spawner.session.facts.get("resources")
    gpus = int(resources.get("gpus") or 0) if isinstance(resources, dict) else 0
    unused = (datetime.now(timezone.utc) - last.replace(tzinfo=timezone.utc)).total_seconds()
    limit = idle.limit(gpus)
    if unused < limit:
        return None
    shown = format_time(int(unused))
    allowed = format_time(limit)
    gpus_en, gpus_zh = (", its GPUs were not used", "，GPU 未被使用") if gpus else ("", "")
    return Text(
        f"Your session was stopped after it had been idle for {shown} (this site allows {allowed}): no kernel was "
        f"busy{gpus_en}, and nothing was typed or saved. Your saved files are safe; variables in memory are gone. "
        "Start again when you need it.",
        f"您的会话闲置 {shown} 后（本站点允许 {allowed}）被停止：没有内核在运行{gpus_zh}，也没有输入或保存。"
        "已保存的文件不受影响，内存中的变量已丢失。需要时请重新启动。",
    )
