"""Signals as something to wait for.

Python runs a signal's handler between two steps of the main thread: a signal that comes just before a call that waits
is heeded only when that call ends, and a handler that raises strikes anywhere, in a `finally` too. So the handlers here
do nothing, the kernel's own part of them writes into a pipe, and the main thread waits for nothing but that pipe.
"""

import os
import select
import signal
import threading

_NUDGE = 0


class Signals(object):
    """From its making on these signals are taken; in the main thread."""

    def __init__(self, numbers):
        self._reader, self._writer = os.pipe()
        for descriptor in (self._reader, self._writer):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(self._writer)
        for number in numbers:
            signal.signal(number, _noted)

    def wait(self, timeout=None):
        """The numbers of the signals that came, in their order; at once when some came before. None in it: it was
        nudged, or `timeout` seconds are over."""
        if not select.select([self._reader], [], [], timeout)[0]:
            return []
        return [number for number in os.read(self._reader, 4096) if number != _NUDGE]

    def nudge(self):
        """End a `wait`, by any thread."""
        try:
            os.write(self._writer, bytes([_NUDGE]))
        except BlockingIOError:  # it is full, so the wait ends
            pass


class Task(object):
    """A call that waits for others, in a thread of its own; its end is a nudge."""

    def __init__(self, signals, function, *arguments):
        self.over, self._value, self._error = False, None, None
        self._signals, self._call = signals, (function, arguments)
        threading.Thread(target=self._run, daemon=True).start()

    def result(self):
        """What the call gave, or raised."""
        if self._error is not None:
            raise self._error
        return self._value

    def _run(self):
        function, arguments = self._call
        try:
            self._value = function(*arguments)
        except Exception as error:
            self._error = error
        self.over = True
        self._signals.nudge()


def _noted(_number, _frame):
    pass
