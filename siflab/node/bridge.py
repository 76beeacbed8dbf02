"""The bridge: runs Slurm's client commands on the node, for the container, where there is neither Slurm nor munge.

It listens on a Unix socket in the session's private folder, takes requests of its own user only, and runs nothing but
Slurm's commands, as argument lists. It ends with the shell that started it.
"""

import json
import os
import select
import signal
import socket
import struct
import threading
from collections import namedtuple

from . import commands, protocol
from .execution import Execution
from .paths import PathMap
from .submission import prepare
from .words import Words, log

Settings = namedtuple("Settings", "binds slurm_bin home")  # [[source, target]], folder or None, the user's home here

AT_ONCE = 32  # commands that run at the same time
_WAIT = 60.0  # seconds that one more waits for its turn
_BUSY, _NOT_ALLOWED, _CANNOT_RUN = 75, 71, 70  # exit codes of a client, after sysexits.h
_LOOK = 2.0  # seconds between two looks whether the parent is still there
_PR_SET_PDEATHSIG = 1


class Bridge(object):
    """`environment` is what the job gave the bridge; the commands get what is left of it after `commands.clean`."""

    def __init__(self, folder, settings, environment):
        self.folder, self.settings = folder, settings
        self.path_map = PathMap(settings.binds)
        self.environment = commands.clean(environment)
        self._turns = threading.BoundedSemaphore(AT_ONCE)
        self._running, self._lock = set(), threading.Lock()

    def serve(self, wanted, wake=None):
        """Take requests as long as `wanted()` holds, asked every two seconds, and until `wake`, a descriptor, is
        readable. No signal handler raises here: where a handler strikes, Python may leave out a `finally`."""
        os.chdir(self.folder)  # a socket's path may have 107 bytes at most, and a site's folder may be longer
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(protocol.SOCKET)
        os.chmod(protocol.SOCKET, 0o600)
        listener.listen(128)
        watched = [listener] if wake is None else [listener, wake]
        while wanted():
            ready = select.select(watched, [], [], _LOOK)[0]
            if wake in ready:
                break
            if listener in ready:
                connection = listener.accept()[0]
                threading.Thread(target=self._answer, args=(connection,), daemon=True).start()
        listener.close()
        with self._lock:  # nothing is started any more
            for execution in self._running:
                execution.signal(signal.SIGTERM)
            self._running = None

    def _answer(self, connection):
        with connection:
            try:
                if _peer(connection) != os.getuid():
                    raise commands.NotAllowed(Words("this session belongs to another user", "该会话属于其他用户"))
                self._run(connection)
            except commands.NotAllowed as refused:
                _fail(connection, _NOT_ALLOWED, refused.args[0])
            except OSError as error:
                _fail(
                    connection, _CANNOT_RUN, Words("the command cannot be run: %s" % error, "命令无法运行：%s" % error)
                )
            except protocol.Gone:
                pass
            except protocol.Broken as broken:
                log("bridge: a request was dropped: %s" % broken)
            finally:
                _hang_up(connection)

    def _run(self, connection):
        request = read_request(connection)
        script = read_script(connection, request)
        name = os.path.basename(request["argv"][0])
        program = commands.find(name, self.settings.slurm_bin, self.environment)
        wanted = request["cwd"]
        cwd = self.path_map.to_host(wanted)
        if cwd is None or not os.path.isdir(cwd):
            cwd = self.settings.home
            if name == "sbatch":
                _warn(connection, _no_such_folder(wanted, cwd))
        if not self._turns.acquire(timeout=_WAIT):
            _fail(connection, _BUSY, _busy())
            return
        try:
            with prepare(request, script, self.path_map, cwd, self.folder) as (words, warnings):
                for warning in warnings:
                    _warn(connection, warning)
                environment = commands.for_command(self.environment, request["environment"], cwd)
                self._execute(connection, [program] + words, cwd, environment, request["terminal"])
        finally:
            self._turns.release()

    def _execute(self, connection, argv, cwd, environment, terminal):
        with self._lock:  # started and noted at once: no command outlives the bridge
            if self._running is None:
                return
            execution = Execution(connection, argv, cwd, environment, terminal)
            self._running.add(execution)
        execution.run()
        with self._lock:
            if self._running is not None:
                self._running.discard(execution)


def read_request(connection):
    """The request, with every field of the type that `protocol` says. Raises Broken."""
    kind, payload = protocol.receive(connection)
    request = protocol.decode(payload)
    argv, cwd, terminal = request.get("argv"), request.get("cwd"), request.get("terminal")
    if kind != protocol.REQUEST or not isinstance(argv, list) or not argv:
        raise protocol.Broken("no command")
    if not all(isinstance(word, str) and "\0" not in word for word in argv + [cwd]) or not cwd.startswith("/"):
        raise protocol.Broken("a command's words and its folder are strings")
    if terminal is not None and not (
        isinstance(terminal, list) and len(terminal) == 2 and all(type(n) is int and 0 < n < 10000 for n in terminal)
    ):
        raise protocol.Broken("a terminal has rows and columns")
    if not isinstance(request.get("environment"), dict):
        raise protocol.Broken("no environment")
    return request


def read_script(connection, request):
    """The job script that the client read inside, or None. Raises Broken."""
    script = request.get("script")
    if script is None:
        return None
    at, size = script.get("at"), script.get("size")
    if (
        type(at) is not int
        or not 0 < at < len(request["argv"])
        or type(size) is not int
        or size > protocol.SCRIPT_LIMIT
    ):
        raise protocol.Broken("a script without place or size")
    data = b""
    while len(data) < size:
        kind, piece = protocol.receive(connection)
        if kind != protocol.SCRIPT:
            raise protocol.Broken("the script is missing")
        data += piece
    return data


def _peer(connection):
    """The user id of the process at the other end (SO_PEERCRED, unix(7)); the same in every user namespace."""
    return struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]


def _hang_up(connection):
    """close() alone is not seen at the other end while a thread of ours waits in recv()."""
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:  # it is gone already
        pass


def _fail(connection, code, words):
    try:
        protocol.send(connection, protocol.FAILURE, protocol.encode(dict(words._asdict(), code=code)))
    except OSError:
        pass


def _warn(connection, words):
    protocol.send(connection, protocol.WARNING, protocol.encode(words._asdict()))


def _no_such_folder(wanted, cwd):
    return Words(
        "the folder %s is not on the node, only in the container: the job starts in %s" % (wanted, cwd),
        "目录 %s 只存在于容器中，节点上没有：作业将在 %s 中启动" % (wanted, cwd),
    )


def _busy():
    return Words(
        "%d commands of this session run already; try again in a moment" % AT_ONCE,
        "本会话已有 %d 个命令在运行；请稍后再试" % AT_ONCE,
    )


def _end_with_parent():
    """prctl(2). Where Python has no ctypes the look every two seconds serves."""
    try:
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    except (ImportError, OSError, AttributeError):
        pass


def _woken_by_signals():
    """A descriptor that is readable once a signal has come, whichever thread the kernel gave it to."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer)
    return reader


def main(folder):
    """Serve until the parent ends."""
    for number in (signal.SIGINT, signal.SIGQUIT):  # a shell's "&" left them ignored, and commands would inherit that
        signal.signal(number, signal.SIG_DFL)
    wake = _woken_by_signals()
    signal.signal(signal.SIGTERM, lambda *_: None)
    parent = os.getppid()
    _end_with_parent()
    os.umask(0o077)
    with open(os.path.join(folder, "bridge.json"), "rb") as stream:
        settings = Settings(**json.loads(stream.read().decode("utf-8")))
    Bridge(folder, settings, os.environ).serve(lambda: os.getppid() == parent, wake)
    return 0
