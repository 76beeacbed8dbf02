"""Run by test_session_watching as an ordinary account that may act as others: a watcher that answers line by line.

    watch_as.py OWNER:JOB ...        then on standard input: ``look``, or end of file

Each ``look`` prints the readings as JSON: kind and the outcome's state and words, by job; what was said is on standard error.
"""

import asyncio
import json
import logging
import os
import sys

from siflab.slurm.execute import PosixUser, Slurm
from siflab_spawner.start.mark import Ours
from siflab_spawner.watch.outcome import in_words
from siflab_spawner.watch.watcher import Watcher


async def find(name: str) -> PosixUser:
    return PosixUser.find(name)


async def rest() -> None:
    """The loop of the watcher; here a look is asked for."""


async def main(jobs: list[str]) -> None:
    watcher = Watcher(Slurm(conf=os.environ["SLURM_CONF"]), logging.getLogger("watcher"), find=find)
    watcher._run = rest  # type: ignore[method-assign]
    for job in jobs:
        owner, _, job_id = job.partition(":")
        watcher.follow(job_id, lambda: None, starting=True, ours=Ours(owner))
    while sys.stdin.readline().strip() == "look":
        told = {}
        for job in jobs:
            job_id = job.partition(":")[2]
            await watcher.look(job_id)
            reading = watcher.reading(job_id)
            words = in_words(reading.outcome).en if reading.outcome else ""
            told[job_id] = [reading.kind, reading.outcome.state.name if reading.outcome else "", words]
        print(json.dumps({"sees_all": watcher.sees_all, "jobs": told}), flush=True)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main(sys.argv[1:]))
