"""What stands for sbatch, squeue and the rest in the container: passes one command over the bridge."""

import os
import signal
import socket
import struct
import sys
import threading

import wire

NO_BRIDGE = 69
_PASSED_ON = ("COLUMNS", "LINES", "TERM", "TZ", "SLURM_TIME_FORMAT")
_VALUED = set("AabCcdDeFGHiJkLMmNnopqQtwxB")  # short options of sbatch that take a value


def script_index(argv):
    """Where in sbatch's argv the script is named; None when it comes on standard input or by --wrap."""
    index = 1
    while index < len(argv):
        word = argv[index]
        if word == "--":
            return index + 1 if index + 1 < len(argv) else None
        if word.startswith("--wrap"):
            return None
        if not word.startswith("-") or word == "-":
            return index
        if word.startswith("--"):
            index += 1 if "=" in word or word in _FLAGS else 2
        else:
            index += 2 if len(word) == 2 and word[1] in _VALUED else 1
    return None


_FLAGS = {
    "--contiguous", "--exclusive", "--help", "--hold", "--ignore-pbs", "--no-requeue", "--overcommit",
    "--oversubscribe",
    "--parsable", "--quiet", "--reboot", "--requeue", "--spread-job", "--test-only", "--usage", "--use-min-nodes",
    "--verbose", "--version", "--wait",
}  # fmt: skip


def prepared(argv):
    """(argv for the host, bytes for standard input or None): a script is read here and sent along, since the host may
    not have its path."""
    if argv[0] != "sbatch":
        return argv, None
    index = script_index(argv)
    if index is None:
        return argv, None
    try:
        with open(argv[index], "rb") as source:
            script = source.read()
    except OSError as error:
        raise ValueError("sbatch: error: Unable to open file %s: %s" % (argv[index], error.strerror))
    rest = argv[index + 1 :]
    named = any(word.startswith(("-J", "--job-name")) for word in argv[1:index])
    name = (
        []
        if named or b"--job-name" in script or b"#SBATCH -J" in script
        else ["--job-name=" + os.path.basename(argv[index])]
    )
    return argv[:index] + name + (["/dev/stdin"] + rest if rest else []), script


def main(arguments):
    folder = os.path.dirname(os.path.abspath(sys.argv[0]))
    argv = [os.path.basename(arguments[0])] + arguments[1:]
    try:
        argv, script = prepared(argv)
    except ValueError as error:
        sys.stderr.write("%s\n" % error)
        return 1
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.path.join(folder, wire.SOCKET))
    except OSError:
        sys.stderr.write(
            "siflab: Slurm commands are not available in this session (no bridge: node %s may lack Python 3.6); "
            "use a login node, or tell your administrator\n" % os.uname()[1]
        )
        return NO_BRIDGE
    request = {"argv": argv, "cwd": os.getcwd(), "window": _window()}
    request["env"] = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return Relay(connection, argv[0], script).run(request)


class Relay(object):
    """Standard streams and signals between this process and the command on the host."""

    def __init__(self, connection, name, script):
        self.connection, self.name, self.script = connection, name, script
        self.lock = threading.Lock()

    def run(self, request):
        try:
            wire.send_request(self.connection, request)
        except OSError:
            pass
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, lambda number, _: self._send(b"S", bytes([number])))
        threading.Thread(target=self._feed, daemon=True).start()
        try:
            return self._receive()
        except EOFError:
            sys.stderr.write("siflab: the bridge went away\n")
            return 70

    def _receive(self):
        while True:
            letter, payload = wire.receive_frame(self.connection)
            if letter in (b"O", b"E"):
                view = memoryview(payload)
                try:
                    while view:
                        view = view[os.write(1 if letter == b"O" else 2, view) :]
                except BrokenPipeError:
                    return 141
            elif letter == b"X":
                return struct.unpack("!i", payload)[0]
            else:
                sys.stderr.write("siflab: %s\n" % payload.decode("utf-8", "replace"))
                return 71

    def _feed(self):
        if self.script is not None:
            for start in range(0, len(self.script), 65536):
                self._send(b"I", self.script[start : start + 65536])
        elif self.name == "sbatch" and not os.isatty(0):
            while True:
                try:
                    piece = os.read(0, 65536)
                except OSError:
                    piece = b""
                if not piece:
                    break
                self._send(b"I", piece)
        self._send(b"I", b"")

    def _send(self, letter, payload):
        with self.lock:
            try:
                self.connection.sendall(wire.frame(letter, payload))
            except OSError:
                pass


def _window():
    if not os.isatty(1):
        return None
    size = os.get_terminal_size(1)
    return [size.lines or 24, size.columns or 80]
