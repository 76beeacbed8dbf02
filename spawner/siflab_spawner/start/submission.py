"""Handing a session's job to Slurm, once: the intent is kept first, the job id right after.

Whether sbatch timed out, the Hub was killed or a page was sent twice: the mark in the job's comment tells whether the
job is there already.
"""

import asyncio
import os
import time

from siflab.config import Resources
from siflab.errors import SlurmUnreachable
from siflab.slurm.answers import parse_cluster, parse_job_id, refused
from siflab.slurm.commands import scancel, squeue_jobs
from siflab.slurm.execute import PosixUser, Slurm, require_reachable
from siflab.slurm.records import QueueRecord, Unreadable, parse_own_squeue
from siflab.text import Text
from siflab_spawner.start.mark import living

_AT_ONCE = 8  # more commands at the same moment only queue up in slurmctld and on the Hub's processors
at_once = asyncio.Semaphore(
    _AT_ONCE
)  # what a start runs before and for its sbatch; never awaited for Slurm to come back
_LATE = 20.0  # seconds in which an sbatch whose answer was lost may still make its job appear
_AGAIN = 2.0


def sbatch_argv(resources: Resources, *, comment: str, name: str, log_pattern: str, folder: str) -> list[str]:
    """The command; the script goes to its standard input. ``--export=ALL`` because the environment that sbatch is given
    is already the short list that the job may have, and a list or NONE would load a login environment (0.5 s)."""
    return [
        "sbatch",
        "--parsable",
        "--no-requeue",
        "--export=ALL",
        f"--comment={comment}",
        f"--job-name={name}",
        f"--output={log_pattern}",
        f"--chdir={folder}",
        *resources.sbatch_options(),
    ]


async def find_jobs(slurm: Slurm, user: PosixUser, prefix: str) -> list[tuple[str, QueueRecord]]:
    """(submit id, record) of this session's living jobs. Raises SlurmUnreachable when the answer proves nothing.

    The user asks, since Slurm may hide the job from others: one that is not seen would be submitted again. Root sees
    all jobs, and is quicker as itself: a child of another uid takes a fork of the whole Hub."""
    asking = None if os.geteuid() == 0 else user
    done = require_reachable(await slurm.arun(squeue_jobs(user=user.name), user=asking))
    try:
        if not done.ok or "error" in done.stderr.lower():
            raise Unreadable(done.stderr.strip()[:200] or f"exit code {done.returncode}")
        return living(parse_own_squeue(done.stdout), user.name, prefix)
    except Unreadable as error:
        raise SlurmUnreachable(
            Text(f"squeue gave no usable answer ({error})", f"squeue 未给出可用的回答（{error}）")
        ) from error


async def find_job(slurm: Slurm, user: PosixUser, prefix: str, submit_id: str) -> str | None:
    """The job of one submit id, if it lives."""
    return next((record.job_id for found, record in await find_jobs(slurm, user, prefix) if found == submit_id), None)


async def cancel_strays(slurm: Slurm, user: PosixUser, prefix: str) -> list[str]:
    """Cancel what earlier starts of this session left behind (an sbatch whose answer came never); their ids."""
    strays = [record.job_id for _, record in await find_jobs(slurm, user, prefix)]
    if strays:
        await slurm.arun(scancel(strays), user=user)
    return strays


async def submit(
    slurm: Slurm, user: PosixUser, argv: list[str], script: str, prefix: str, submit_id: str
) -> tuple[str, str]:
    """The id of the job, and its cluster where there are several (else empty). Raises SlurmRefused, Invalid (naming the
    field) or SlurmUnreachable; after either no job of this submit id was seen."""
    async with at_once:
        done = await slurm.arun(argv, user=user, stdin=script)
    job_id = parse_job_id(done.stdout) if done.ok else None
    if job_id is not None:
        return job_id, parse_cluster(done.stdout) or slurm.cluster or ""
    if done.ok or done.unreachable:
        found = await find_late(slurm, user, prefix, submit_id, time.time())
        if found is not None:
            return found, slurm.cluster or ""
        require_reachable(done)
    raise refused(done.stderr)


async def find_late(slurm: Slurm, user: PosixUser, prefix: str, submit_id: str, submitted: float) -> str | None:
    """Look for the job of an sbatch whose answer was lost until `submitted` + 20 s, at least until Slurm answers."""
    while True:
        try:
            found = await find_job(slurm, user, prefix, submit_id)
        except SlurmUnreachable:
            await asyncio.sleep(_AGAIN)
            continue
        if found is not None or time.time() - submitted > _LATE:
            return found
        await asyncio.sleep(_AGAIN)
