"""What 50 pending and 200 running sessions cost Slurm in a minute.

The sessions are simulated, their jobs and squeue are real. A spawner is polled as JupyterHub does it: every 30 s when
it runs; batchspawner looks twice a second while one is pending, ours has its watcher.
"""

import asyncio
import logging
import os
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.spawner import lab

PENDING, RUNNING = 50, 200
HUBS_POLL = 30.0  # seconds: JupyterHub's Spawner.poll_interval
STARTING_POLL = 0.5  # seconds: batchspawner's startup_poll_interval


def jobs() -> tuple[list[str], list[str]]:
    """Ids of jobs that are held, and of jobs that run."""

    def submit(*options: str) -> str:
        argv = ["sbatch", "--parsable", "--mem=10", "--time=60", "--output=/dev/null", "--partition=cpu", *options,
                "--wrap=sleep 3600"]  # fmt: skip
        command = ["runuser", "-u", lab.USERS[0], "--", *argv]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/").stdout.strip()

    running = [submit() for _ in range(RUNNING)]
    pending = [submit("--hold") for _ in range(PENDING)]
    states = ["squeue", "--noheader", "--states=PENDING", "--format=%i"]
    while set(subprocess.run(states, capture_output=True, text=True, check=True).stdout.split()) != set(pending):
        time.sleep(1)
    return pending, running


async def ours(slurm_bin: Path, pending: list[str], running: list[str], seconds: float) -> None:
    """One watcher for all."""
    from siflab.slurm.execute import Slurm
    from siflab_spawner.watch.watcher import Watcher

    watcher = Watcher(Slurm(str(slurm_bin), os.environ["SLURM_CONF"]), logging.getLogger("bench"))
    for job_id in running:
        watcher.follow(job_id, lambda: None, starting=False)
    for job_id in pending:
        watcher.follow(job_id, lambda: None, starting=True)
    await asyncio.sleep(seconds)
    for job_id in (*running, *pending):
        assert watcher.reading(job_id).kind == ("pending" if job_id in pending else "running")
        watcher.forget(job_id)


async def batchspawners(slurm_bin: Path, pending: list[str], running: list[str], seconds: float) -> None:
    """One spawner a session, as JupyterHub holds them."""
    import batchspawner
    from traitlets.config import Config

    config = Config()
    config.SlurmSpawner.batch_query_cmd = f"runuser -u {lab.USERS[0]} -- {slurm_bin}/squeue -h -j {{job_id}} -o '%T %B'"
    config.BatchSpawnerBase.exec_prefix = ""

    def spawner(job_id: str) -> Any:
        made = batchspawner.SlurmSpawner(config=config, _mock=True)
        made.user = SimpleNamespace(name=lab.USERS[0])
        made.get_env = lambda: dict(os.environ)
        made.job_id = job_id
        return made

    until = time.monotonic() + seconds

    async def look_again(job_id: str, first: float, pause: float) -> None:
        made = spawner(job_id)
        await asyncio.sleep(first)
        while time.monotonic() < until:
            await made.query_job_status()
            await asyncio.sleep(pause)

    spread = HUBS_POLL / len(running)
    await asyncio.gather(
        *(look_again(job_id, number * spread, HUBS_POLL) for number, job_id in enumerate(running)),
        *(look_again(job_id, 0, STARTING_POLL) for job_id in pending),
    )


def measure(seconds: float = 120.0) -> dict[str, dict[str, float]]:
    """Per minute: commands, and questions to slurmctld; by spawner."""
    counted = lab.Counted(lab.ROOT / "counted")
    pending, running = jobs()
    found = {}
    for name, run in (("siflab", ours), ("batchspawner", batchspawners)):
        counted.reset()
        before, begun = lab.rpcs(), time.monotonic()
        asyncio.run(run(counted.folder, pending, running, seconds))
        minutes = (time.monotonic() - begun) / 60
        found[name] = {
            "commands": sum(counted.counts().values()) / minutes,
            "slurmctld RPCs": (lab.rpcs() - before) / minutes,
        }
    subprocess.run(["scancel", "--user", lab.USERS[0]], check=False)
    return found
