"""The shim: claims the session from the Hub, starts its server, proves that it listens, stays its parent.

Runs inside the container with the image's Python, as ``python node.pyz shim FOLDER``; FOLDER is the session's private
one. Exit codes: that of the server, or 41 refused by the Hub, 42 the Hub was away too long, 43 no port could be had.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import claiming
import listening

NO_PORT = 43
TRIES = 5
GRACE = 20  # seconds between TERM and KILL
_TAIL = 8000  # bytes of the server's output that a failure report carries


class Server(object):
    """The single-user server as a child; its output goes to the job's log, and the end of it is kept."""

    def __init__(self, argv, env):
        self.tail = b""
        self.process = subprocess.Popen(
            argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return
            self.tail = (self.tail + piece)[-_TAIL:]
            view = memoryview(piece)
            while view:
                view = view[os.write(1, view) :]

    def output(self):
        """The end of what it printed, once it has ended."""
        self._reader.join(2)
        return self.tail.decode("utf-8", "replace")

    def stop(self):
        """TERM, a grace time, KILL."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()


class Shim(object):
    """One session. `config` is what the job's script carries."""

    def __init__(self, folder, config, hub=None, pause=0.1):
        self.folder, self.config, self.pause = folder, config, pause
        self.hub = hub or claiming.Hub(config)
        self.claimant = _random_word()
        self.server = None
        self.stopping = threading.Event()

    def run(self):
        """The exit code."""
        for signum in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(signum, lambda *_: self.stopping.set())
        try:
            for _ in range(TRIES):
                code = self._try()
                if code is not None:
                    return code
                claiming.say("another process took the port; trying another one")
        except claiming.ClaimError as error:
            claiming.say(str(error))
            return error.code
        self.hub.failed(self.claimant, NO_PORT, "no free port could be had on this node; start again", "")
        return NO_PORT

    def _try(self):
        """The exit code, or None if the port was taken by another process."""
        port = listening.free_port()
        answer = self.hub.claim(
            self.claimant, port, os.environ.get("SLURM_JOB_ID", ""), os.environ.get("SLURMD_NODENAME", os.uname()[1])
        )
        self._write(answer)
        self.server = Server(answer["argv"], self._environment(answer["env"], port))
        deadline = time.time() + self.config.get("boot_limit", 300)
        while not self.stopping.is_set():
            if self.server.process.poll() is not None:
                return self._died(port)
            who = listening.who_listens(port, self.server.process.pid)
            if who == "ours":
                self.hub.ready(self.claimant, port)
                self._forget_config()
                return self._wait()
            if who == "other":
                self.server.stop()
                return None
            if time.time() > deadline:
                claiming.say("the server did not listen within %d s" % self.config.get("boot_limit", 300))
                self.server.stop()
                return _under_128(1)
            self.stopping.wait(self.pause)
        return _under_128(self.server.stop())

    def _died(self, port):
        code = self.server.process.returncode
        if listening.listening_inodes(port):
            return None
        claiming.say("the server ended with exit code %d before it listened" % code)
        self.hub.failed(
            self.claimant,
            _under_128(code),
            "JupyterLab ended with exit code %d before it was ready" % code,
            self.server.output(),
        )
        return _under_128(code) or 1

    def _wait(self):
        while self.server.process.poll() is None:
            if self.stopping.wait(0.5):
                return _under_128(self.server.stop())
        self.server.output()
        return _under_128(self.server.process.returncode)

    def _write(self, answer):
        files = dict(answer.get("files", {}))
        files["session.json"] = json.dumps(answer["session"], ensure_ascii=False, indent=1)
        files["site.json"] = json.dumps(answer["site"], ensure_ascii=False, indent=1)
        for name, text in files.items():
            if "/" in name or name.startswith("."):
                raise claiming.ClaimError(claiming.REFUSED, "the Hub sent a file of the name %r" % name)
            target = os.path.join(self.folder, name)
            with open(
                os.open(target + ".new", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8"
            ) as out:
                out.write(text)
            os.replace(target + ".new", target)

    def _environment(self, given, port):
        env = {name: value for name, value in os.environ.items() if not name.startswith("SIFLAB_CLAIM")}
        env.update(given)
        env["JUPYTERHUB_SERVICE_URL"] = _with_port(given["JUPYTERHUB_SERVICE_URL"], port)
        env["PATH"] = os.path.join(self.folder, "bin") + ":" + env.get("PATH", "/usr/local/bin:/usr/bin:/bin")
        env["SIFLAB_PATH"] = env["PATH"]  # restored by profile.sh in login shells, whose /etc/profile resets PATH
        return env

    def _forget_config(self):
        try:
            os.unlink(os.path.join(self.folder, "claim.json"))
        except OSError:
            pass


def _with_port(url, port):
    head, slash, path = url.partition("://")[2].partition("/")
    return url.partition("://")[0] + "://" + head.rpartition(":")[0] + ":%d" % port + slash + path


def _random_word():
    import base64

    return base64.urlsafe_b64encode(os.urandom(24)).decode("ascii")


def _under_128(code):
    """Slurm takes a batch script's exit code over 128 for a signal: 143 is shown as FAILED 15:0."""
    if code < 0:
        return min(-code, 127)
    return code if code < 128 else min(code - 128, 127)


def main(arguments):
    folder = arguments[0]
    with open(os.path.join(folder, "claim.json"), encoding="utf-8") as source:
        config = json.load(source)
    os.umask(0o077)
    with open(os.path.join(folder, "python"), "w") as out:  # which Python the bridge's clients use
        out.write(sys.executable)
    return Shim(folder, config).run()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
