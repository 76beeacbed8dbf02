"""Many starts at the same moment go in one after the other, so that the Hub goes on answering everybody else.

JupyterHub's own part of a start (token, OAuth client, database) occupies its event loop for some 30 ms at a stretch;
two hundred of them at once would keep every other request waiting for seconds. JupyterHub asks for the scopes of a
server's token before that part and awaits the answer: there a start waits for its turn. JupyterHub's own throttle
(`concurrent_spawn_limit`) would count the jobs that queue, and answer 429. Jobs that start together claim together, and
are ready together: what is written down for each of them has its turn as well.
"""

import asyncio
import time
from collections.abc import Awaitable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner


class Turns:
    """Turns in the order of asking. The first of a quiet time comes at once; after it, each when the event loop answers
    again within `lag` seconds of the moment it was meant to, or after `longest` seconds all the same."""

    def __init__(self, lag: float, step: float = 0.02, quiet: float = 1.0, longest: float = 2.0) -> None:
        self.lag, self.step, self.quiet, self.longest = lag, step, quiet, longest
        self._one_by_one = asyncio.Lock()
        self._last = float("-inf")

    async def take(self) -> None:
        async with self._one_by_one:
            begun = now = time.monotonic()
            while begun - self._last < self.quiet and now - begun < self.longest:
                meant = now + self.step
                await asyncio.sleep(self.step)
                now = time.monotonic()
                if now - meant <= self.lag:
                    break
            self._last = now


_turns: dict[tuple[asyncio.AbstractEventLoop, str], Turns] = {}


def admit(spawner: "SingularitySlurmSpawner") -> Awaitable[list[str]]:
    """For `Spawner.server_token_scopes`: JupyterHub's default scopes, when it is this start's turn.

    JupyterHub has begun to write down the server and does not expect a pause here: whatever request ends meanwhile
    would roll that back, and a Hub that is killed later would not know the session. So it is committed at once, before
    anything else can run.
    """
    spawner._deprecated_db_session.commit()
    return _default_scopes(spawner)


async def _default_scopes(spawner: "SingularitySlurmSpawner") -> list[str]:
    await turn(spawner, "start")
    return []


async def turn(spawner: "SingularitySlurmSpawner", kind: str) -> None:
    """Wait for this session's turn among those that come to the same point, `kind`, of their start."""
    key = (asyncio.get_running_loop(), kind)
    if key not in _turns:
        _turns[key] = Turns(spawner.admission_lag)
    await _turns[key].take()
