"""How the end of a child process is noticed: by its pidfd, as Python does from 3.12 on. Before, asyncio keeps a thread
for each child, which a Hub that runs hundreds of Slurm commands a minute would feel."""

import asyncio
import os
import sys
from typing import Any


def begin() -> None:
    from siflab_spawner.hub_start import when_configured

    when_configured(_at_start)


def _at_start(app: Any) -> None:
    from siflab_spawner.hub_start import is_used
    from siflab_spawner.spawner import SingularitySlurmSpawner

    if sys.version_info < (3, 12) and is_used(app, SingularitySlurmSpawner) and _has_pidfds():
        watcher = asyncio.PidfdChildWatcher()
        watcher.attach_loop(asyncio.get_running_loop())
        asyncio.get_event_loop_policy().set_child_watcher(watcher)


def _has_pidfds() -> bool:
    """Linux 5.3 and later, unless a sandbox forbids the call."""
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return True
