"""The mark in a session job's comment, by which a Hub finds its jobs again.

It is ``siflab:<site>:<user>:<server>:<submit id>``, with user and server quoted as in URLs.
Anyone can write any comment, so a mark counts only together with the job's owner.
"""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import quote

from siflab.slurm.records import QueueRecord

PREFIX = "siflab"
_BEFORE, _AFTER = 300.0, 900.0  # seconds; clocks differ, and an sbatch may be carried out late


@dataclass(frozen=True)
class Ours:
    """By what a job is known to be the one that was submitted: its `owner`, its `mark`, and `since` when (seconds since
    the epoch). Slurm may lose its state and count job ids anew: an id alone says little. Empty: not known."""

    owner: str = ""
    mark: str = ""
    since: float = 0.0

    def is_timely(self, submitted: datetime | None) -> bool:
        """A job that was submitted then can be this one. After a requeue Slurm gives a new time."""
        if submitted is None or not self.since:
            return True
        return self.since - _BEFORE <= submitted.timestamp() <= self.since + _AFTER

    def is_older(self, submitted: datetime | None) -> bool:
        """A job that was submitted before cannot be this one."""
        return submitted is not None and bool(self.since) and submitted.timestamp() < self.since - _BEFORE


ANY = Ours()


def session_prefix(site: str, user: str, server: str) -> str:
    """What the marks of all starts of one session have in common."""
    return ":".join((PREFIX, site, quote(user, safe=""), quote(server, safe=""), ""))


def mark(site: str, user: str, server: str, submit_id: str) -> str:
    return session_prefix(site, user, server) + submit_id


def living(records: list[QueueRecord], owner: str, prefix: str) -> list[tuple[str, QueueRecord]]:
    """(submit id, record) of the jobs of `owner` that carry a mark of this session and have not ended, newest first."""
    found = [
        (record.comment[len(prefix) :], record)
        for record in records
        if record.user == owner and record.comment.startswith(prefix) and record.state.kind in ("pending", "running")
    ]
    return sorted(found, key=lambda pair: int(pair[1].job_id), reverse=True)
