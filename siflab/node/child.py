"""The session's server as a child process: its output goes on into the job's log, signals reach it, its end is seen."""

import os
import signal
import subprocess
import threading

_TAIL = 8192  # bytes of output that are kept
_DRAIN = 2.0  # seconds for the last output of a server that ended; its kernels may hold the pipe open longer


class Child(object):
    """Started at once. Raises OSError when the program cannot be run."""

    def __init__(self, argv, environment):
        self._process = subprocess.Popen(
            [str(word) for word in argv],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            bufsize=0,
        )
        self.pid = self._process.pid
        self._tail = bytearray()
        self._killer = None
        self.on_output = None
        self._pump = threading.Thread(target=self._pass_on, daemon=True)
        self._pump.start()

    def alive(self):
        return self._process.poll() is None

    def wait(self):
        """Until it ends; its return code, negative for a signal."""
        code = self._process.wait()
        if self._killer is not None:
            self._killer.cancel()
        self._pump.join(_DRAIN)
        return code

    def signal(self, number, grace):
        """Pass a signal on; if the child is still there after `grace` seconds, KILL it."""
        self._send(number)
        if self._killer is None:
            self._killer = threading.Timer(grace, self._send, [signal.SIGKILL])
            self._killer.daemon = True
            self._killer.start()

    def _send(self, number):
        try:
            self._process.send_signal(number)
        except OSError:  # it ended this moment
            pass

    def tail(self):
        """The last bytes that it printed."""
        return bytes(self._tail)

    def _pass_on(self):
        while True:
            piece = os.read(self._process.stdout.fileno(), 65536)
            if not piece:
                return
            self._tail += piece
            if self.on_output is not None:
                self.on_output(piece)
            del self._tail[:-_TAIL]
            view = memoryview(piece)
            try:
                while view:
                    view = view[os.write(1, view) :]
            except OSError:  # the log's disk is full: the server must not stop for that
                pass
