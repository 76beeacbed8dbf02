"""Reading of one run's files for one page, which may fail for a while."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from siflab.errors import Invalid, NotFound, SiflabError
from siflab.text import Text
from siflab_extension.events import Of, error_event
from siflab_extension.outbox import Outbox

Piece = dict[str, Any]


class Reading:
    """Tells the page of a failure once, and tries again; `pause` is the time in seconds between two tries."""

    def __init__(self, outbox: Outbox, run_id: str, of: Of, pause: float) -> None:
        self._outbox, self._run_id, self._of, self._pause = outbox, run_id, of, pause
        self._failure: Text | None = None

    async def piece(self, read: Callable[[], Awaitable[Piece]]) -> Piece | None:
        """What `read` gives at last; None when there is nothing to be read, now or later."""
        while True:
            try:
                piece = await read()
            except SiflabError as error:
                if error.message != self._failure:
                    event = error_event(error.message, self._run_id, self._of)
                    self._outbox.post(("error", self._of, self._run_id), event)
                if isinstance(error, (NotFound, Invalid)):
                    return None
                self._failure = error.message
                await asyncio.sleep(self._pause)
                continue
            self._failure = None
            return piece
