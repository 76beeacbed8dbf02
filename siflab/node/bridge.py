"""The bridge: runs Slurm's client commands on the host for the session's container.

``python node.pyz bridge FOLDER``: listens on a Unix socket in the session's private folder, takes requests of the same
uid only, runs no other programs than Slurm's own, each as an argument list, and ends them when their client goes away.
It dies with the shell that started it.
"""

import ctypes
import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading

import options
import scrub
import wire

COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "sstat", "sprio", "sshare")
REFUSED = {
    "srun": "srun cannot run inside a session; put it into a script and submit that with sbatch",
    "salloc": "salloc cannot run inside a session; use sbatch, or start another session from the Hub",
}
AT_ONCE = 32
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_PR_SET_PDEATHSIG = 1


class Bridge(object):
    """`settings` has ``binds`` ([inside, host] pairs), ``bin`` (folder of the commands, or null) and ``conf``."""

    def __init__(self, settings, environment):
        self.binds = [tuple(pair) for pair in settings.get("binds", [])]
        self.bin = settings.get("bin")
        self.environment = scrub.clean(environment)
        if settings.get("conf"):
            self.environment["SLURM_CONF"] = settings["conf"]
        self.home = self.environment.get("HOME", "/")
        self.places = threading.BoundedSemaphore(AT_ONCE)

    def serve(self, path):
        """Listen for ever."""
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        listener.bind(path)
        os.umask(before)
        listener.listen(256)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        """One client, from its request to the exit code."""
        try:
            _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            if uid != os.getuid():
                raise ValueError("user %d may not use this session's bridge" % uid)
            with self.places:
                Command(self, connection, wire.receive_request(connection)).run()
        except (EOFError, OSError):
            pass
        except ValueError as error:
            try:
                connection.sendall(wire.frame(b"F", str(error).encode("utf-8", "replace")))
            except OSError:
                pass
        finally:
            connection.close()

    def locate(self, name):
        """The absolute path of a command that may be run. Raises ValueError with words for a person."""
        if name in REFUSED:
            raise ValueError(REFUSED[name])
        if name not in COMMANDS:
            raise ValueError("%s is not available in a session" % name)
        path = (
            os.path.join(self.bin, name) if self.bin else shutil.which(name, path=self.environment.get("PATH", _PATH))
        )
        if not path or not os.access(path, os.X_OK):
            raise ValueError("%s is not installed on node %s; tell your administrator" % (name, os.uname()[1]))
        return path


class Command(object):
    """One command that runs for one client."""

    def __init__(self, bridge, connection, request):
        self.bridge, self.connection = bridge, connection
        self.argv = [str(word) for word in request["argv"]]
        self.name = os.path.basename(self.argv[0])
        self.path = bridge.locate(self.name)
        self.cwd = options.to_host(str(request.get("cwd") or "/"), bridge.binds)
        self.client_environment = request.get("env") or {}
        self.window = request.get("window")
        self.lock = threading.Lock()
        self.process = None

    def run(self):
        if self.name == "sbatch":
            self.argv = options.map_sbatch(self.argv, self.bridge.binds)
        if not os.path.isdir(self.cwd):
            if self.name == "sbatch":
                words = "siflab: this folder does not exist on the host; the job starts in %s\n" % self.bridge.home
                self.send(b"E", words.encode("utf-8"))
            self.cwd = self.bridge.home
        env = scrub.for_command(self.bridge.environment, self.client_environment, self.cwd)
        terminal, out = self._terminal()
        self.process = subprocess.Popen(
            [self.path] + self.argv[1:],
            cwd=self.cwd,
            env=env,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            start_new_session=True,
            bufsize=0,
        )
        if terminal is not None:
            os.close(out)
        source = self.process.stdout.fileno() if terminal is None else terminal
        pumps = [
            threading.Thread(target=self._pump, args=(source, b"O"), daemon=True),
            threading.Thread(target=self._pump, args=(self.process.stderr.fileno(), b"E"), daemon=True),
        ]
        for thread in pumps + [threading.Thread(target=self._feed, daemon=True)]:
            thread.start()
        for thread in pumps:
            thread.join()
        code = self.process.wait()
        if terminal is not None:
            os.close(terminal)
        self.send(b"X", struct.pack("!i", code if code >= 0 else 128 - code))

    def send(self, letter, payload):
        with self.lock:
            self.connection.sendall(wire.frame(letter, payload))

    def _terminal(self):
        """A pseudo-terminal of the client's size when its output is a terminal, so that output comes line by line."""
        window = self.window
        if not (
            isinstance(window, list) and len(window) == 2 and all(isinstance(n, int) and 0 < n < 10000 for n in window)
        ):
            return None, subprocess.PIPE
        master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", window[0], window[1], 0, 0))
        return master, slave

    def _pump(self, source, letter):
        try:
            while True:
                try:
                    piece = os.read(source, 65536)
                except OSError:  # a pseudo-terminal whose other end is closed
                    return
                if not piece:
                    return
                self.send(letter, piece)
        except OSError:  # the client is gone
            self._signal(signal.SIGTERM)

    def _feed(self):
        try:
            while True:
                letter, payload = wire.receive_frame(self.connection)
                if letter == b"S" and len(payload) == 1:
                    self._signal(payload[0])
                elif letter == b"I" and payload:
                    view = memoryview(payload)
                    while view:
                        view = view[self.process.stdin.write(view) :]
                elif letter == b"I":
                    self.process.stdin.close()
        except (EOFError, OSError, ValueError):
            if self.process.poll() is None:
                self._signal(signal.SIGTERM)

    def _signal(self, number):
        try:
            os.killpg(self.process.pid, number)
        except (OSError, ValueError):
            pass


def main(arguments):
    folder = arguments[0]
    for number in (signal.SIGINT, signal.SIGQUIT):  # a shell's "&" left them ignored
        signal.signal(number, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    with open(os.path.join(folder, "bridge.json"), encoding="utf-8") as source:
        settings = json.load(source)
    Bridge(settings, os.environ).serve(os.path.join(folder, wire.SOCKET))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
