"""Where blocking work is done, so that the server's event loop never waits for Slurm or for a file system."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from siflab.errors import SiflabError
from siflab.text import Text

T = TypeVar("T")


class Busy(SiflabError):
    """Too much waits already."""

    code = "busy"
    status = 503


class TooSlow(SiflabError):
    """The work took longer than its limit. Its thread cannot be stopped: it may still do what it was asked."""

    code = "too-slow"
    status = 504


class Workroom:
    """A bounded number of threads before a bounded queue.

    `limit` is in seconds and counts from the request, so that time in the queue is part of it.
    """

    def __init__(self, threads: int = 4, waiting: int = 64, limit: float = 90.0) -> None:
        self.limit = limit
        self._room = threads + waiting
        self._in_hand = 0
        self._lock = threading.Lock()
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="siflab")

    async def run(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises; `Busy` if it cannot begin, `TooSlow` if it does not end in time."""
        with self._lock:
            if self._in_hand >= self._room:
                raise Busy(
                    Text(
                        "The server still works on earlier requests, perhaps because Slurm or the file system is slow. "
                        "Try again in a moment.",
                        "服务器仍在处理之前的请求，可能是 Slurm 或文件系统响应缓慢。请稍后再试。",
                    )
                )
            self._in_hand += 1
        try:
            future = self._executor.submit(work)
        except RuntimeError:
            self._done()
            raise Busy(Text("The server is shutting down.", "服务器正在关闭。")) from None
        future.add_done_callback(self._done)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self.limit)
        except asyncio.TimeoutError:
            if future.done() and not future.cancelled():
                return future.result()  # it ended at the last moment, or raised a TimeoutError of its own
            raise TooSlow(
                Text(
                    f"No answer within {self.limit:g} seconds: Slurm or the file system is slow or does not respond. "
                    "What was asked may still happen, so look at the list of runs before you try again.",
                    f"{self.limit:g} 秒内没有得到回应：Slurm 或文件系统缓慢或无响应。"
                    "该请求仍可能被执行，重试之前请先查看运行列表。",
                )
            ) from None

    def _done(self, _future: "Future[T] | None" = None) -> None:
        with self._lock:
            self._in_hand -= 1

    def close(self) -> None:
        """Drop what waits; what has begun ends by itself."""
        self._executor.shutdown(wait=False, cancel_futures=True)
