"""One command of Slurm, run for one client: its output and exit code go there, input and signals come from there."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

from . import protocol

_GRACE = 5.0  # seconds between TERM and KILL when the client went away


class Execution(object):
    """`terminal` is (rows, columns) when the client's standard output is a terminal, else None. Raises OSError when the
    program cannot be run."""

    def __init__(self, connection, argv, cwd, environment, terminal=None):
        self._connection, self._lock = connection, threading.Lock()
        self._over = threading.Event()
        output, inner = subprocess.PIPE, None
        if terminal:
            self._output, inner = _pseudo_terminal(terminal)
            output = inner
            environment = dict(environment, COLUMNS=str(terminal[1]), LINES=str(terminal[0]))
        try:
            self._process = subprocess.Popen(
                argv,
                cwd=cwd,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
        except OSError:
            if terminal:
                os.close(self._output)
            raise
        finally:
            if inner is not None:
                os.close(inner)
        if not terminal:
            self._output = self._process.stdout.fileno()
        self._terminal = bool(terminal)

    def run(self):
        """Until the command ends or the client goes away."""
        outputs = [
            threading.Thread(target=self._pass_on, args=(self._output, protocol.OUTPUT), daemon=True),
            threading.Thread(target=self._pass_on, args=(self._process.stderr.fileno(), protocol.ERRORS), daemon=True),
        ]
        for thread in outputs + [threading.Thread(target=self._listen, daemon=True)]:
            thread.start()
        for thread in outputs:
            thread.join()
        code = self._process.wait()
        self._over.set()
        self._close()
        try:
            self._send(protocol.EXIT, protocol.encode_code(code if code >= 0 else 128 - code))
        except OSError:
            pass

    def end(self):
        """TERM to the command and what it started, KILL if that does not help."""
        self.signal(signal.SIGTERM)
        if not self._over.wait(_GRACE):
            self.signal(signal.SIGKILL)

    def signal(self, number):
        if not self._over.is_set():
            try:
                os.killpg(self._process.pid, number)
            except OSError:
                pass

    def _pass_on(self, source, kind):
        while True:
            try:
                piece = os.read(source, protocol.PIECE)
            except OSError:  # EIO: nobody has the pseudo-terminal open any more
                return
            if not piece:
                return
            try:
                self._send(kind, piece)
            except OSError:
                self.end()
                return

    def _listen(self):
        """Input and signals from the client, until it goes away or the command is over."""
        try:
            while True:
                kind, payload = protocol.receive(self._connection)
                if kind == protocol.INPUT:
                    self._feed(payload)
                elif kind == protocol.SIGNAL and payload:
                    self.signal(payload[0])
        except protocol.Broken:
            self.end()

    def _feed(self, piece):
        stream = self._process.stdin
        if stream.closed:
            return
        try:
            view = memoryview(piece)
            while view:
                view = view[stream.write(view) :]
            if not piece:
                stream.close()
        except OSError:  # it reads no more
            pass

    def _send(self, kind, payload):
        with self._lock:
            protocol.send(self._connection, kind, payload)

    def _close(self):
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                try:
                    stream.close()
                except OSError:
                    pass
        if self._terminal:
            os.close(self._output)


def _pseudo_terminal(size):
    """(our end, the command's end) of a terminal that echoes nothing and changes no line end."""
    ours, inner = pty.openpty()
    attributes = termios.tcgetattr(inner)
    attributes[1] &= ~termios.OPOST
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(inner, termios.TCSANOW, attributes)
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("4H", size[0], size[1], 0, 0))
    return ours, inner
