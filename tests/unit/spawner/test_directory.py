"""Questions to a directory of accounts that hangs."""

import asyncio
import threading

import pytest

from siflab.errors import Internal
from siflab_spawner.accounts.directory import Directory

pytestmark = pytest.mark.asyncio


async def test_answers_and_errors_come_back():
    one = Directory(threads=1)
    assert await one.ask("a", lambda: 5) == 5
    with pytest.raises(KeyError):
        await one.ask("b", lambda: {}["x"])
    assert await one.ask("a", lambda: 6) == 6, "an answer is not remembered here"


async def test_a_directory_that_hangs_is_told_and_takes_a_few_threads_only():
    held, began = threading.Event(), threading.Semaphore(0)
    one = Directory(threads=2, limit=0.2)

    def hang():
        began.release()
        held.wait(60)

    try:
        failures = await asyncio.gather(*(one.ask(key, hang) for key in "abcdef"), return_exceptions=True)
        assert all(isinstance(failure, Internal) and "did not answer" in str(failure) for failure in failures)
        assert [began.acquire(timeout=0) for _ in range(3)] == [True, True, False], "two threads, no more"
        assert await asyncio.to_thread(lambda: 7) == 7, "the Hub's other threads are free"
        threads = [thread for thread in threading.enumerate() if thread.name == "siflab-directory"]
        assert all(thread.daemon for thread in threads), "none keeps the Hub from ending"
    finally:
        held.set()
    one.limit = 60
    assert await one.ask("g", lambda: 8) == 8, "it answers again"


async def test_the_same_question_is_asked_once():
    held, asked = threading.Event(), []
    one = Directory(threads=4, limit=60)
    waiting = [asyncio.ensure_future(one.ask("user1", lambda: (asked.append(1), held.wait(60)))) for _ in range(5)]
    await one.ask("user2", lambda: None)
    waiting[0].cancel()
    held.set()
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError) and results[1] == results[4] == (None, True)
    assert asked == [1]
