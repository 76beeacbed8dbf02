"""The shim: the parent of a session's server, inside the container.

It claims what the session runs with, starts the server, and reports it ready only when its own child listens on the
port. Then it stays, passes signals on, and ends with the server's exit code.

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

from . import folder as private
from . import image
from .child import Child
from .environment import server_environment
from .hub import Away, Hub, Refused
from .listening import FOREIGN, OURS, owner, reserved_port
from .words import Words, log

REFUSED = 41  # the Hub refused the claim
HUB_AWAY = 42  # the Hub did not answer for 15 minutes
NOT_STARTED = 43  # the server could not be run, or ended well before it listened
NOT_LISTENING = 44  # the server did not listen within the boot limit
PORTS_TAKEN = 45  # other processes took one port after the other
KILLED = 46  # the server was ended by a signal that the job did not get
STOPPED = 47  # the job was told to end

PORT_TRIES = 5
GRACE = 25.0  # seconds between TERM and KILL; Slurm's own KillWait is 30 by default
_LOOK = 0.05  # seconds between two looks at the port


class _Stop(Exception):
    """The job is told to end, and there is no server."""


class _Failed(Exception):
    """(exit code, Words): the Hub is to be told, and the log."""


class Shim(object):
    """`config` is what the job script carries: what `Hub` needs, and boot_limit in seconds."""

    def __init__(self, folder, config, hub=None, grace=GRACE):
        self.folder, self.grace = folder, grace
        self.boot_limit = float(config.get("boot_limit") or 300)
        self.hub = hub or Hub(config)
        self.began = time.monotonic()
        self.child = None
        self.told_to_stop = False

    def run(self):
        """The exit code."""
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        for number in (signal.SIGQUIT, signal.SIGPIPE):  # a shell's "&" ignores INT and QUIT, and children inherit that
            signal.signal(number, signal.SIG_DFL)
        try:
            self._start()
            return self._exit_code(self.child.wait())
        except _Stop:
            log("told to end before the server was started", "服务器启动前收到结束信号")
            return STOPPED
        except _Failed as failed:
            code, words = failed.args
            self.hub.failed(code, words, self.child.tail() if self.child else b"")
        except Refused as refused:
            code, words = REFUSED, refused.args[0]
            words = Words("the Hub refused: " + words.en, "Hub 拒绝：" + words.zh)
        except Away as away:
            code, words = HUB_AWAY, _hub_away(self.hub.patience // 60, away)
        self._end_child()
        log(words.en, words.zh)
        return code

    def _start(self):
        """Until the Hub knows that the server listens; or until the server ends, if it was told to."""
        for _ in range(PORT_TRIES):
            if self.told_to_stop:
                raise _Stop()
            with reserved_port() as port:
                answer = self._claim(port)
                self._start_child(answer, port)
                whose = self._wait_for_listener(port)
            if self.told_to_stop:
                return
            if whose == OURS:
                log("the server listens on port %d %s" % (port, self._clock()))
                if not self.hub.ready(port, self.child.alive) and not self.told_to_stop:
                    raise self._ended_early()
                return
            if whose != FOREIGN:
                raise _Failed(NOT_LISTENING, _slow(self.boot_limit)) if self.child.alive() else self._ended_early()
            log("port %d was taken by another process; trying another one" % port)
            self._end_child()
        raise _Failed(PORTS_TAKEN, _ports_taken(_node()))

    def _claim(self, port):
        answer = self.hub.claim(port, os.environ.get("SLURM_JOB_ID", ""), _node())
        image.note(answer, self.folder, os.environ)
        files = dict(answer.get("files") or {})
        for name in ("session", "site"):
            files[name + ".json"] = json.dumps(answer.get(name, {}), ensure_ascii=False, indent=1) + "\n"
        try:
            for name, text in files.items():
                private.put(self.folder, name, text)
        except (OSError, ValueError) as error:
            raise _Failed(NOT_STARTED, _not_written(_node(), error))
        log("claimed with port %d %s" % (port, self._clock()))
        return answer

    def _start_child(self, answer, port):
        try:
            self.child = Child(answer["argv"], server_environment(os.environ, answer["env"], port, self.folder))
        except OSError as error:
            raise _Failed(NOT_STARTED, _not_runnable(answer["argv"][0], error))

    def _wait_for_listener(self, port):
        """Whose the port is, when the child listens or ended, another process listens, or the boot limit is over."""
        until = time.monotonic() + self.boot_limit
        while True:
            over = time.monotonic() > until or not self.child.alive()  # before the look: it may end in between
            whose = owner(port, self.child.pid)
            if over or whose in (OURS, FOREIGN):
                return whose
            time.sleep(_LOOK)

    def _ended_early(self):
        code = self.child.wait()
        own = KILLED if code < 0 else code if 0 < code < 128 else NOT_STARTED
        return _Failed(own, _no_server(code))

    def _exit_code(self, code):
        if 0 <= code < 128:
            return code
        if self.told_to_stop:
            return STOPPED
        words = _killed(code)
        log(words.en, words.zh)
        return KILLED

    def _end_child(self):
        if self.child is not None and self.child.alive():
            self.child.end(self.grace)
        self.child = None

    def _on_signal(self, number, _frame):
        first, self.told_to_stop = not self.told_to_stop, True
        if self.child is not None:
            self.child.signal(number, self.grace)
        elif first:
            raise _Stop()

    def _clock(self):
        return "(%.2f s after the shim began)" % (time.monotonic() - self.began)


def _node():
    return os.environ.get("SLURMD_NODENAME") or socket.gethostname()


def _hub_away(minutes, trouble):
    return Words(
        "the Hub did not answer for %d minutes (%s); start the session again when it is back" % (minutes, trouble),
        "Hub 在 %d 分钟内没有响应（%s）；待其恢复后请重新启动会话" % (minutes, trouble),
    )


def _ports_taken(node):
    return Words(
        "other processes on node %s took one port after the other; start the session again" % node,
        "节点 %s 上的其他进程不断抢占端口；请重新启动会话" % node,
    )


def _not_written(node, error):
    return Words(
        "the private folder on node %s cannot be written (%s): is its disk full? Start the session again"
        % (node, error),
        "节点 %s 上的私有目录无法写入（%s）：磁盘是否已满？请重新启动会话" % (node, error),
    )


def _not_runnable(program, error):
    return Words(
        "%s cannot be run in the image (%s); tell your administrator (`images` in site.yaml)"
        % (program, error.strerror),
        "镜像中无法运行 %s（%s）；请联系管理员（site.yaml 中的 `images`）" % (program, error.strerror),
    )


def _slow(limit):
    return Words(
        "the server did not listen within %d s (session.boot_limit in site.yaml); start it again, and if that happens "
        "again tell your administrator" % limit,
        "服务器在 %d 秒内没有开始监听（site.yaml 中的 session.boot_limit）；请重试，若再次发生请联系管理员" % limit,
    )


def _no_server(code):
    en, zh = ("signal %d", "信号 %d") if code < 0 else ("exit code %d", "退出码 %d")
    return Words(
        "the server ended (%s) before it could be reached; its last lines say why. The image must have JupyterHub and "
        "JupyterLab" % (en % abs(code)),
        "服务器在可访问之前退出（%s），原因见其最后的输出。镜像中必须有 JupyterHub 和 JupyterLab" % (zh % abs(code)),
    )


def _killed(code):
    if code >= 0:
        return Words("the server ended with exit code %d" % code, "服务器以退出码 %d 结束" % code)
    return Words(
        "the server was ended by signal %d%s" % (-code, " (often: out of memory)" if code == -9 else ""),
        "服务器被信号 %d 终止%s" % (-code, "（常见原因：内存不足）" if code == -9 else ""),
    )


def main(folder):
    """The exit code of a session whose private folder is `folder`."""
    os.umask(0o077)
    config = private.take(folder, "claim.json")
    if config.get("clients", True):  # a site's own script has Slurm's commands as it always had
        private.install_clients(folder, sys.executable, pkgutil.get_data(__package__, "client.sh").decode("utf-8"))
    return Shim(folder, config).run()
