"""Which signal is the warning, and how much time there is after it."""

import asyncio
import os
import signal

import pytest

from siflab.inside.signals import SHORT, StopRequest


@pytest.fixture
def handlers():
    before = {number: signal.getsignal(number) for number in signal.valid_signals() if signal.getsignal(number)}
    yield
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, before.get(number, signal.SIG_DFL))


CASES = [
    # request.json, the signals that come, whether it is the warning, seconds
    ({}, ["USR2"], True, 45.0),
    ({}, ["USR1"], False, SHORT),
    ({}, ["TERM"], False, SHORT),
    ({"signal": "USR1"}, ["USR1"], True, 45.0),
    ({"signal": "USR1"}, ["USR2"], False, SHORT),
    ({"signal": "TERM", "warning_seconds": 400}, ["TERM"], True, 300.0),
    ({"signal": "INT"}, ["INT"], True, 45.0),
    ({"signal": "KILL"}, ["USR2"], True, 45.0),  # cannot be heard: as if nothing were said
    ({"signal": ["x"], "warning_seconds": "soon"}, ["USR2"], True, 45.0),
    ({"warning_seconds": 100}, ["USR2", "TERM"], True, SHORT),
    ({"warning_seconds": 100}, ["TERM", "USR2"], False, SHORT),
    ({"warning_seconds": 100}, ["USR2", "USR2"], True, 75.0),
]


@pytest.mark.parametrize(("request_", "sent", "warned", "grace"), CASES)
def test_the_warning_is_the_one_that_was_asked_for(handlers, request_, sent, warned, grace):
    stop = StopRequest()
    stop.listen()
    stop.expect(request_)
    for name in sent:
        os.kill(os.getpid(), getattr(signal, f"SIG{name}"))
    assert stop.signal == getattr(signal, f"SIG{sent[0]}")
    assert (stop.warned, stop.grace) == (warned, grace)


def test_a_cancellation_after_the_warning_leaves_little_time(handlers, monkeypatch):
    monkeypatch.setattr("siflab.inside.signals.SHORT", 0.01)
    stop = StopRequest()
    stop.listen()
    stop.expect({"warning_seconds": 10_000_000})

    async def go():
        os.kill(os.getpid(), signal.SIGUSR2)
        assert await stop.wait() == signal.SIGUSR2
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), signal.SIGTERM)
        return await stop.wait_for(asyncio.create_task(asyncio.Event().wait()))

    assert asyncio.run(go()) is False


def test_who_ends_in_time_is_not_waited_for(handlers):
    stop = StopRequest()
    stop.signal = stop.warning

    async def go():
        await stop.wait()
        return await stop.wait_for(asyncio.create_task(asyncio.sleep(0)))

    assert asyncio.run(go()) is True
