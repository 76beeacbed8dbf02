"""The shim: the parent of a session's server, inside the container.

It claims what the session runs with, starts the server, and reports it ready only when its own child listens on the
port. Then it stays, passes signals on, and ends with the server's exit code. From the server's end on it holds the port
until the Hub says that no route leads there, so that nobody else can listen where people's browsers are sent.

Exit codes: the server's own if it is under 128; else one of those below. All are under 128, since Slurm takes a batch
script's exit code from 128 on for a signal.
"""

import json
import os
import pkgutil
import signal
import socket
import sys
import time

from . import activity, image, requirements
from . import folder as private
from . import shim_words as words_of
from .child import Child
from .environment import server_environment
from .hub import Away, Hub, Refused
from .listening import FOREIGN, OURS, ReservedPort, owner
from .waking import Signals, Task
from .words import Words, log

REFUSED = 41  # the Hub refused the claim
HUB_AWAY = 42  # the Hub did not answer for 15 minutes
NOT_STARTED = 43  # the server could not be run, or ended well before it listened
NOT_LISTENING = 44  # the server did not listen within the boot limit
PORTS_TAKEN = 45  # other processes took one port after the other
KILLED = 46  # the server was ended by a signal that the job did not get
STOPPED = 47  # the job was told to end
LACKING = 48  # the image has no JupyterHub, or no JupyterLab

PORT_TRIES = 5
GRACE = 25.0  # seconds between TERM and KILL; Slurm's own KillWait is 30 by default
FAREWELL = 5.0  # seconds that the port is held after the server's end while the Hub does not answer
_LOOK = 0.05  # seconds between two looks at the port


class _Stop(Exception):
    """The job is told to end, and there is no server."""


class _Failed(Exception):
    """(exit code, Words): the Hub is to be told, and the log."""


class Shim(object):
    """`config` is what the job script carries: what `Hub` needs, and boot_limit in seconds."""

    def __init__(self, folder, config, hub=None, grace=GRACE, farewell=FAREWELL):
        self.folder, self.grace, self.farewell_limit = folder, grace, farewell
        self.boot_limit = float(config.get("boot_limit") or 300)
        self.hub = hub or Hub(config)
        self.began = time.monotonic()
        self.child = self.port = self.farewell = None
        self.told_to_stop = False
        self.routed = False  # the Hub may have a route to the port

    def run(self):
        """The exit code."""
        self.signals = Signals((signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD))
        for number in (signal.SIGQUIT, signal.SIGPIPE):  # a shell's "&" ignores INT and QUIT, and children inherit that
            signal.signal(number, signal.SIG_DFL)
        code, words = self._run()
        self._end_child()
        if words is not None:
            log(words.en, words.zh)
        self._leave(code)
        return code

    def _run(self):
        """(exit code, what to say of it or None)"""
        try:
            self._start()
            self._heed(lambda: not self.child.alive())
            return self._exit_code(self.child.wait())
        except _Stop:
            return STOPPED, words_of.told_to_end()
        except _Failed as failed:
            code, words = failed.args
            try:
                self._ask(self.hub.failed, code, words, self.child.tail() if self.child else b"")
            except _Stop:
                pass
            return code, words
        except Refused as refused:
            words, self.routed = refused.args[0], False
            return REFUSED, Words("the Hub refused: " + words.en, "Hub 拒绝：" + words.zh)
        except Away as away:
            return HUB_AWAY, words_of.hub_away(self.hub.patience // 60, away)

    def _start(self):
        """Until the Hub knows that the server listens; or until the server ends, if it was told to."""
        for _ in range(PORT_TRIES):
            self.port = ReservedPort()
            port = self.port.number
            self._start_child(self._claim(port), port)
            whose = self._wait_for_listener(port)
            if self.told_to_stop:
                return
            if whose == OURS:
                log("the server listens on port %d %s" % (port, self._clock()))
                self.port.keep()
                self.routed = True
                if not self._ask(self.hub.ready, port, self.child.alive) and not self.told_to_stop:
                    raise self._ended_early()
                return
            if whose != FOREIGN:
                raise (
                    self._ended_early()
                    if not self.child.alive()
                    else _Failed(NOT_LISTENING, words_of.slow(self.boot_limit))
                )
            log("port %d was taken by another process; trying another one" % port)
            self._end_child()
            self.port.close()
        raise _Failed(PORTS_TAKEN, words_of.ports_taken(_node()))

    def _claim(self, port):
        answer = self._ask(self.hub.claim, port, _job_id(), _node())
        image.note(answer, self.folder, os.environ)
        files = dict(answer.get("files") or {})
        for name in ("session", "site"):
            files[name + ".json"] = json.dumps(answer.get(name, {}), ensure_ascii=False, indent=1) + "\n"
        try:
            for name, text in files.items():
                private.put(self.folder, name, text)
        except (OSError, ValueError) as error:
            raise _Failed(NOT_STARTED, words_of.not_written(_node(), error))
        log("claimed with port %d %s" % (port, self._clock()))
        return answer

    def _start_child(self, answer, port):
        environment = server_environment(os.environ, answer["env"], port, self.folder)
        lacking = requirements.missing(answer["argv"], environment)
        if lacking is not None:
            raise _Failed(LACKING, lacking)
        try:
            self.child = Child(answer["argv"], environment)
        except OSError as error:
            raise _Failed(NOT_STARTED, words_of.not_runnable(answer["argv"][0], error))
        activity.watch(environment, self.child)

    def _wait_for_listener(self, port):
        """Whose the port is, when the child listens or ended, another process listens, or the boot limit is over."""
        until = time.monotonic() + self.boot_limit
        while True:
            over = time.monotonic() > until or not self.child.alive()  # before the look: it may end in between
            whose = owner(port, self.child.pid)
            if over or whose in (OURS, FOREIGN):
                return whose
            self._pass_on(_LOOK)

    def _ended_early(self):
        code = self.child.wait()
        own = KILLED if code < 0 else code if 0 < code < 128 else NOT_STARTED
        return _Failed(own, words_of.no_server(code))

    def _exit_code(self, code):
        if 0 <= code < 128:
            return code, None
        if self.told_to_stop:
            return STOPPED, None
        return KILLED, words_of.killed(code)

    def _end_child(self):
        if self.child is not None and self.child.alive():
            self.child.signal(signal.SIGTERM, self.grace)
            self._heed(lambda: not self.child.alive())
            self.child.wait()
        self.child = None

    def _leave(self, code):
        """Hold the port until the Hub knows that nobody is to be sent there any more, but not for long."""
        if not self.routed:
            return
        self._say_goodbye(code)
        until = time.monotonic() + self.farewell_limit
        while not self.farewell.over and time.monotonic() < until:
            self._pass_on(max(0.0, until - time.monotonic()))

    def _say_goodbye(self, code):
        if self.farewell is None:
            self.farewell = Task(self.signals, self.hub.ended, code, _job_id())

    # ---- signals: heeded by this thread alone, wherever it waits

    def _pass_on(self, timeout=None):
        """Wait for something to happen; a signal to the job goes on to the server."""
        for number in self.signals.wait(timeout):
            if number == signal.SIGCHLD:
                continue
            self.told_to_stop = True
            if self.child is not None:
                self.child.signal(number, self.grace)
            if self.routed:
                self._say_goodbye(STOPPED)

    def _heed(self, over):
        while not over():
            self._pass_on()

    def _ask(self, function, *arguments):
        """What the call gives. Raises _Stop when the job is told to end and there is no server to wait for."""
        task = None
        while not self.told_to_stop or self.child is not None:
            if task is None:
                task = Task(self.signals, function, *arguments)
            elif task.over:
                return task.result()
            self._pass_on()
        raise _Stop()

    def _clock(self):
        return "(%.2f s after the shim began)" % (time.monotonic() - self.began)


def _job_id():
    return os.environ.get("SLURM_JOB_ID", "")


def _node():
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def main(folder):
    """The exit code of a session whose private folder is `folder`."""
    os.umask(0o077)
    config = private.take(folder, "claim.json")
    if config.get("clients", True):  # a site's own script has Slurm's commands as it always had
        private.install_clients(folder, sys.executable, pkgutil.get_data(__package__, "client.sh").decode("utf-8"))
    return Shim(folder, config).run()
