"""Waiting for news without missing any: whoever waits says up to which ring it has looked."""

import asyncio


class Bell:
    """Rings are counted; `wait(seen)` returns at once when it has rung since."""

    def __init__(self) -> None:
        self.count = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def ring(self) -> None:
        self.count += 1
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def wait(self, seen: int, timeout: float | None = None) -> bool:
        """True when it has rung since the count was `seen`, False after `timeout` seconds."""
        if self.count != seen:
            return True
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await asyncio.wait_for(future, timeout)
        except asyncio.TimeoutError:
            return False
        finally:
            self._waiting.discard(future)
        return True
