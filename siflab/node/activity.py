"""Is this session in use? Told to the Hub by the shim, in JupyterHub's own words (``POST users/NAME/activity``).

JupyterHub's two sources of its own count every request that an open page makes by itself, so a forgotten browser tab
would keep a session, and its GPUs, for ever. So they are off, and this counts as use:

- a kernel that is busy, silent or not; else the last message that a kernel sent for somebody's cell
- something typed into, or printed by, a terminal
- a request that changes something: saving, uploading, starting or stopping a kernel, promoting a notebook. JupyterHub's
  server writes a line for each into its log (not where its log level is above INFO); its own counters it leaves empty
- the CPU time of all processes of the job but the server: a job that runs in the background
- the use of the job's GPUs as nvidia-smi says it, where it can (not with MIG)

A look that fails counts as use: nobody's work ends because a server was too busy to answer.
"""

import calendar
import json
import os
import re
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from .listening import OURS, owner
from .usage import CpuTime, gpu_use
from .words import log

SETTINGS = "SIFLAB_ACTIVITY"  # JSON: interval (seconds), cpu and gpu (percent)
_CHANGE = re.compile(rb"\] 2\d\d (?:POST|PUT|PATCH|DELETE) ([^ ?]{1,2000})")
_SOMEBODYS = (b"/api/contents/", b"/api/kernels", b"/api/sessions", b"/api/terminals", b"/siflab/")
_LONGEST_LINE = 8192
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:00)", re.A)
_ANSWER_LIMIT = 8 << 20
_TIMEOUT = 20.0


def watch(environment, child):
    """Look and report in a thread, for as long as `child` lives. `environment` is the server's; nothing is done without
    `SETTINGS` in it."""
    settings = json.loads(environment.get(SETTINGS) or "null")
    if not settings or not environment.get("JUPYTERHUB_ACTIVITY_URL"):
        return
    try:
        activity = Activity(environment, child.pid, settings)
    except (OSError, ValueError) as error:
        log("whether this session is used cannot be told to the Hub: %s" % (error,))
        return
    child.on_output = activity.heard
    threading.Thread(target=activity.run, args=(child.alive,), daemon=True).start()


class Activity(object):
    """`last` is the moment of the last use, in seconds since the epoch."""

    def __init__(self, environment, server_pid, settings):
        self.environment, self.interval = environment, float(settings["interval"])
        self.cpu_percent, self.gpu_percent = float(settings["cpu"]), float(settings["gpu"])
        self.last = self._sent = 0.0
        self._trouble = None
        self._answered = self._changed = False
        self._line = b""
        self._cpu = CpuTime(server_pid, environment.get("SLURM_JOB_ID", ""))
        self._own = _Server(environment, server_pid)

    def run(self, alive, sleep=time.sleep):
        while alive():
            sleep(self.interval)
            if alive():
                self.look()
                self.report()

    def heard(self, piece):
        """A piece of the server's log; in another thread than `look`."""
        lines = (self._line + piece).split(b"\n")
        self._line = lines.pop()[-_LONGEST_LINE:]
        for line in lines:
            found = _CHANGE.search(line)
            if found and any(part in found.group(1) for part in _SOMEBODYS):
                self._changed = True

    def look(self):
        """Take note of what was used since the look before."""
        now = time.time()
        try:
            seen, busy = self._seen(now)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            self._say("what this session does cannot be seen (%s); it counts as used" % (error,))
            seen, busy = now, True
        else:
            self._say(None)
        if self._cpu.percent() >= self.cpu_percent:
            busy = True
        if not busy and gpu_use(self.environment) >= self.gpu_percent:
            busy = True
        self.last = max(self.last, now if busy else seen)

    def report(self):
        """Tell the Hub, when there is news. What it does not take is told again at the next look."""
        if self.last <= self._sent:
            return
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.last))
        name = self.environment.get("JUPYTERHUB_SERVER_NAME", "")
        body = {"servers": {name: {"last_activity": moment}}, "last_activity": moment}
        try:
            self._own.ask(self.environment["JUPYTERHUB_ACTIVITY_URL"], body)
        except (OSError, ValueError) as error:
            log("the Hub does not take the report of use: %s" % (getattr(error, "reason", None) or error,))
        else:
            self._sent = self.last

    def _seen(self, now):
        """(moment of the last use, whether it is used at this moment) by what the server says."""
        kernels = self._own.get("api/kernels")
        terminals = self._own.get("api/terminals", missing=[])
        self._answered = True
        changed, self._changed = self._changed, False
        busy = changed or any(kernel.get("execution_state") == "busy" for kernel in kernels)
        moments = [moment_of(one.get("last_activity")) for one in kernels + terminals]
        return min(now, max(moments + [0.0])), busy

    def _say(self, trouble):
        if trouble and trouble != self._trouble and self._answered:  # at first the server boots
            log(trouble)
        self._trouble = trouble


class _Server(object):
    """Requests with the session's own token. With internal_ssl the Hub knows it by its server's certificate, and its
    server, which trusts the Hub and the proxy alone, by one that was made for this."""

    def __init__(self, environment, pid):
        self._pid, self._token = pid, environment.get("JUPYTERHUB_API_TOKEN", "")
        parts = urllib.parse.urlsplit(environment.get("JUPYTERHUB_SERVICE_URL", ""))
        prefix = environment.get("JUPYTERHUB_SERVICE_PREFIX") or "/"
        self.port = parts.port or 0
        self.base = "%s://127.0.0.1:%d%s" % (parts.scheme or "http", self.port, prefix)
        self._to_hub = self._to_own = _opener()
        authority = environment.get("JUPYTERHUB_SSL_CLIENT_CA")
        if authority:
            self._to_hub = _opener(_hub_context(environment))
            self._to_own = _opener(_own_context(os.path.dirname(authority)))

    def get(self, path, missing=None):
        """What our own server answers; `missing` where it has no such address, if that is not None. Nobody else gets
        the token: what listens at the port has to be our child."""
        if owner(self.port, self._pid) != OURS:
            raise OSError("its server does not listen")
        request = urllib.request.Request(self.base + path + "?no_track_activity=1", headers=self._headers())
        try:
            with self._to_own.open(request, timeout=_TIMEOUT) as response:
                text = response.read(_ANSWER_LIMIT).decode("utf-8", "replace")
        except urllib.error.HTTPError as error:
            if missing is not None and error.code in (403, 404):
                return missing
            raise
        return json.loads(text)

    def ask(self, url, body):
        data = json.dumps(body).encode("utf-8")
        request = urllib.request.Request(url, data, self._headers(), method="POST")
        self._to_hub.open(request, timeout=_TIMEOUT).close()

    def _headers(self):
        return {"Authorization": "token " + self._token, "Content-Type": "application/json"}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A token is not to be carried elsewhere."""

    def redirect_request(self, *_):
        return None


def _opener(context=None):
    more = [urllib.request.HTTPSHandler(context=context)] if context else []
    return urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect(), *more)


def _hub_context(environment):
    context = ssl.create_default_context(cafile=environment["JUPYTERHUB_SSL_CLIENT_CA"])
    context.load_cert_chain(environment["JUPYTERHUB_SSL_CERTFILE"], environment["JUPYTERHUB_SSL_KEYFILE"])
    return context


def _own_context(folder):
    """Whom it talks to is known by the port's owner (`_Server.get`), not by a certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(os.path.join(folder, "own-cert.pem"), os.path.join(folder, "own-key.pem"))
    return context


def moment_of(text):
    """Seconds since the epoch of Jupyter Server's UTC timestamps; 0 for anything else."""
    match = _MOMENT.match(text) if isinstance(text, str) else None
    return float(calendar.timegm(time.strptime(match.group(1), "%Y-%m-%dT%H:%M:%S"))) if match else 0.0
