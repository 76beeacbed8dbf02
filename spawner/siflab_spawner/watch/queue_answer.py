"""What an answer of squeue proves: the jobs that it shows, and nothing at all when anything about it is odd."""

import asyncio
from collections.abc import Collection

from siflab.slurm.execute import Completed
from siflab.slurm.records import QueueRecord, Unreadable, parse_squeue

UNKNOWN_JOB = "Invalid job id specified"
_LONG = 65536  # characters from which on an answer is read in a thread, so that the Hub answers meanwhile


class NoProof(Exception):
    """Nothing may be concluded from an answer. `cause` is one of a few words, for counting."""

    def __init__(self, cause: str, words: str) -> None:
        super().__init__(words)
        self.cause = cause


async def read_queue(done: Completed, ids: Collection[str], everyone: bool = False) -> dict[str, QueueRecord]:
    """The records of the jobs `ids` by id, from `squeue_jobs` for them, or for `everyone`. Raises NoProof."""
    words = done.stderr.strip()[:300]
    if done.returncode == 124:
        raise NoProof("timeout", words)
    if done.returncode == 127:
        raise NoProof("not-run", words)
    if done.unreachable:
        raise NoProof("unreachable", words)
    alone = not everyone and len(ids) == 1
    if not done.ok:
        if alone and UNKNOWN_JOB in done.stderr:
            return {}
        raise NoProof("refused", words or f"exit code {done.returncode}")
    if "error" in done.stderr.lower():
        raise NoProof("error-text", words)
    try:
        if len(done.stdout) > _LONG:
            records = await asyncio.to_thread(parse_squeue, done.stdout, ids)
        else:
            records = parse_squeue(done.stdout, ids)
    except Unreadable as error:
        raise NoProof("unreadable", str(error)) from error
    found = {record.job_id: record for record in records}
    if len(found) < len(records):
        raise NoProof("unreadable", "one job is there twice")
    if alone and not found:  # squeue says of a single job that it does not know it, with exit code 1
        raise NoProof("empty", "squeue printed nothing")
    return found
