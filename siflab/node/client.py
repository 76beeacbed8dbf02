"""The client: stands for one of Slurm's commands in the container and passes it over the bridge.

Exit codes: the command's own; 69 when there is no bridge, 70, 71 or 75 when the bridge did not run it, 76 when the
bridge went away meanwhile (sysexits.h), 141 when nobody reads the output.
"""

import errno
import os
import signal
import socket
import sys
import threading

from . import protocol
from .waking import Signals, Task
from .words import Words, language

_NO_BRIDGE, _LOST, _NO_READER = 69, 76, 141
_WENT_AWAY = Words(
    "the bridge to Slurm went away; whether the command took effect, squeue on a login node can tell",
    "与 Slurm 的桥接已中断；命令是否生效，请在登录节点上用 squeue 确认",
)
_NO_ANSWER = Words(
    "ended without an answer of the bridge to Slurm; whether the command took effect, squeue can tell",
    "未等到与 Slurm 桥接的回应便已结束；命令是否生效，请用 squeue 确认",
)


def main(arguments):
    """`arguments`: the command's name and its words. Gives the exit code."""
    name, words = os.path.basename(arguments[0]), arguments[1:]
    folder = os.environ.get("SIFLAB_DIR") or "/run/siflab"
    if name == "siflab":
        from . import program

        return program.main(words, folder)
    script, at, passed_on, reads_input = None, None, protocol.PREFERENCES, _reads_input(name, words)
    if name == "sbatch":
        from . import sbatch_line  # here, because the others are asked far more often and are to start fast

        options, at = sbatch_line.parse(words)
        if at is not None:
            try:
                script = _read(words[at])
            except OSError as error:  # in sbatch's own words
                sys.stderr.write("sbatch: error: Unable to open file %s: %s\n" % (words[at], error.strerror))
                return 1
            options = options + sbatch_line.directives(script)
        passed_on = passed_on.union(sbatch_line.exported(options))
        reads_input = sbatch_line.reads_input(words)
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.path.join(folder, protocol.SOCKET))
    except OSError:
        _say(_no_bridge(folder))
        return _NO_BRIDGE
    request = {
        "argv": [name] + words,
        "cwd": os.getcwd(),
        "terminal": _terminal(),
        "environment": {name: os.environ[name] for name in passed_on if name in os.environ},
        "script": None if script is None else {"at": at + 1, "size": len(script)},
    }
    return Relay(connection).run(request, script, reads_input)


class Relay(object):
    """Standard streams, signals and the exit code, between this process and the command on the node."""

    def __init__(self, connection):
        self._connection, self._lock = connection, threading.Lock()
        self._unheeded = False  # a signal was passed on, and nothing came back since

    def run(self, request, script, reads_input):
        """The exit code. This thread waits for signals alone, whatever the others wait for."""
        signals = Signals((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT))
        Task(signals, self._offer, request, script, reads_input)
        receiving = Task(signals, self._receive)
        while not receiving.over:
            for number in signals.wait():
                self._on_signal(number, signals)
        try:
            return receiving.result()
        except protocol.Broken:
            _say(_WENT_AWAY)
            return _LOST

    def _offer(self, request, script, reads_input):
        self._send(protocol.REQUEST, protocol.encode(request))
        for start in range(0, len(script or b""), protocol.PIECE):
            self._send(protocol.SCRIPT, script[start : start + protocol.PIECE])
        if reads_input:
            self._feed()
        else:
            self._send(protocol.INPUT)

    def _receive(self):
        while True:
            kind, payload = protocol.receive(self._connection)
            self._unheeded = False
            if kind in (protocol.OUTPUT, protocol.ERRORS):
                try:
                    _write(1 if kind == protocol.OUTPUT else 2, payload)
                except OSError as error:
                    return _NO_READER if error.errno == errno.EPIPE else 1
            elif kind == protocol.EXIT:
                return protocol.decode_code(payload)
            elif kind in (protocol.FAILURE, protocol.WARNING):
                said = protocol.decode(payload)
                _say(Words(said.get("en", ""), said.get("zh", "")))
                if kind == protocol.FAILURE:
                    return said.get("code", 1)

    def _feed(self):
        while True:
            try:
                piece = os.read(0, protocol.PIECE)
            except OSError:
                piece = b""
            self._send(protocol.INPUT, piece)
            if not piece:
                return

    def _on_signal(self, number, signals):
        if self._unheeded:  # the second one: the bridge, or what it runs, does not answer
            _say(_NO_ANSWER)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
        self._unheeded = True
        Task(signals, self._send, protocol.SIGNAL, bytes([number]))

    def _send(self, kind, payload=b""):
        """What cannot be sent is noticed where the answer is awaited."""
        with self._lock:
            try:
                protocol.send(self._connection, kind, payload)
            except OSError:
                pass


def _reads_input(name, words):
    """Whether the command reads its standard input: most do not, and must leave it to a surrounding ``while read``."""
    if name == "scancel":
        return any(word in ("-i", "--interactive") for word in words)
    return name == "scontrol" and not words


def _read(path):
    with open(path, "rb") as stream:
        script = stream.read(protocol.SCRIPT_LIMIT + 1)
    if len(script) > protocol.SCRIPT_LIMIT:
        raise OSError(errno.EFBIG, "longer than Slurm allows")
    return script


def _terminal():
    if not os.isatty(1):
        return None
    size = os.get_terminal_size(1)
    return [size.lines or 24, size.columns or 80]


def _write(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _say(words):
    _write(2, ("siflab: %s\n" % getattr(words, language(os.environ))).encode("utf-8", "replace"))


def _no_bridge(folder):
    """What the job script noted when it could not start the bridge, or that it ended since."""
    try:
        with open(os.path.join(folder, "no-bridge"), "rb") as stream:
            return Words(*stream.read().decode("utf-8").splitlines()[:2])
    except (OSError, ValueError, TypeError):
        return Words(
            "Slurm commands are not available in this session: its bridge ended. Use a login node, or start it anew",
            "本会话无法使用 Slurm 命令：桥接程序已退出。请使用登录节点，或重新启动会话",
        )
