"""When a Hub starts it is told in the log that Slurm hides jobs from its account, before the first session is."""

import asyncio
import os
from typing import Any

from siflab.config import SiteError, load_site
from siflab.slurm.execute import Slurm
from siflab_spawner.hub_start import is_used, when_configured
from siflab_spawner.watch.pace import DEFAULT
from siflab_spawner.watch.privacy import sees_all_jobs, tell_hidden

_running: set["asyncio.Task[None]"] = set()


def begin() -> None:
    """Have each Hub of this spawner class look when it has read its configuration. It does not wait for the answer."""
    when_configured(_at_start)


def _at_start(app: Any) -> None:
    from siflab_spawner.spawner import SingularitySlurmSpawner

    if os.geteuid() == 0 or not is_used(app, SingularitySlurmSpawner):
        return
    settings: dict[str, Any] = {}
    for owner in reversed(app.spawner_class.mro()):
        settings.update(app.config.get(owner.__name__, {}))
    try:
        site = load_site(str(settings.get("site_file", "")) or None)
    except SiteError:
        return  # it is told where the site is used
    task = asyncio.ensure_future(
        look(
            Slurm(site.slurm.bin, site.slurm.conf, cluster=site.slurm.cluster),
            app.log,
            int(settings.get("private_queries_a_minute", DEFAULT.private_a_minute)),
        )
    )
    _running.add(task)
    task.add_done_callback(_running.discard)


async def look(slurm: Slurm, log: Any, a_minute: int) -> None:
    if await sees_all_jobs(slurm) is False:
        tell_hidden(log, a_minute)
