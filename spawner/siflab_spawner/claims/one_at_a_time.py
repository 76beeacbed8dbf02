"""One request of each kind at a time for each session, not one right after the other: the Hub's turns, what it asks of
Slurm and its log are everybody's, and a session's code is known to its user, who may send what they like."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from siflab_spawner.claims import claim

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

SPACE = 0.5
"""Seconds from the end of an answer to the next of that kind; a job asks again after a second or more."""
_BUSY = float("inf")

_ended: "WeakKeyDictionary[SingularitySlurmSpawner, dict[str, float]]" = WeakKeyDictionary()


@asynccontextmanager
async def one_at_a_time(spawner: "SingularitySlurmSpawner", kind: str) -> AsyncIterator[None]:
    """Raises NotYet while another request of this kind of this session is being answered."""
    at = _ended.setdefault(spawner, {})
    last = at.get(kind, 0.0)
    if last == _BUSY:
        raise claim.NotYet("another request of this session is being answered", claim.WAIT)
    at[kind] = _BUSY
    try:
        await asyncio.sleep(max(0.0, last + SPACE - time.monotonic()))
        yield
    finally:
        at[kind] = time.monotonic()
