"""The mark in a session job's comment, by which a Hub finds its jobs again.

It is ``siflab:<site>:<user>:<server>:<submit id>``, with user and server quoted as in URLs.
Anyone can write any comment, so a mark counts only together with the job's owner.
"""

from urllib.parse import quote

from siflab.slurm.records import QueueRecord

PREFIX = "siflab"


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
