"""Questions to the directory of accounts (passwd, group; LDAP or SSSD behind them), which may not answer for minutes.

They have a few threads of their own, so that a directory that hangs takes no thread from the rest of the Hub, and so
that neither these threads nor their number keep the Hub from going on or from ending.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Hashable
from typing import Any

from siflab.errors import Internal
from siflab.text import Text

LIMIT = 15.0  # seconds for an answer, with the wait for a thread
_THREADS = 8
_Question = tuple[asyncio.Future[Any], Callable[[], Any]]


class Directory:
    """At most `threads` questions are asked at the same time, the same one only once."""

    def __init__(self, threads: int = _THREADS, limit: float = LIMIT) -> None:
        self.threads, self.limit = threads, limit
        self._questions: queue.SimpleQueue[_Question] = queue.SimpleQueue()
        self._started = 0
        self._idle = threading.Semaphore(0)
        self._asked: dict[Hashable, asyncio.Future[Any]] = {}

    async def ask(self, key: Hashable, question: Callable[[], Any]) -> Any:
        """What `question` returns or raises. Raises Internal when that takes longer than the limit. Who asks with the
        `key` of a question that is still open waits for its answer."""
        loop = asyncio.get_running_loop()
        answer = self._asked.get((loop, key))
        if answer is None:
            answer = loop.create_future()
            self._asked[loop, key] = answer
            answer.add_done_callback(lambda done: self._close(loop, key, done))
            self._questions.put((answer, question))
            self._start_a_thread()
        try:
            return await asyncio.wait_for(asyncio.shield(answer), self.limit)
        except asyncio.TimeoutError:
            raise Internal(
                Text(
                    f"the directory of accounts did not answer within {self.limit:g} s; try again, and tell your "
                    "administrator that the directory service (SSSD, LDAP) does not answer",
                    f"账户目录在 {self.limit:g} 秒内没有响应；请重试，并告知管理员目录服务（SSSD、LDAP）没有响应",
                )
            ) from None

    def _close(self, loop: asyncio.AbstractEventLoop, key: Hashable, done: asyncio.Future[Any]) -> None:
        self._asked.pop((loop, key), None)
        if not done.cancelled():
            done.exception()  # who asked may be gone

    def _start_a_thread(self) -> None:
        if not self._idle.acquire(blocking=False) and self._started < self.threads:
            self._started += 1
            threading.Thread(target=self._work, name="siflab-directory", daemon=True).start()

    def _work(self) -> None:
        while True:
            answer, question = self._questions.get()
            try:
                result, error = question(), None
            except Exception as raised:
                result, error = None, raised
            try:
                answer.get_loop().call_soon_threadsafe(_settle, answer, result, error)
            except RuntimeError:  # the loop is closed
                pass
            self._idle.release()


def _settle(answer: asyncio.Future[Any], result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(result)


directory = Directory()
