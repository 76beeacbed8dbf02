"""The environment of a session's server: the container's own, then what the Hub gave, then what must hold."""

import os
import shutil
from urllib.parse import urlsplit, urlunsplit

_CONTAINERS_OWN = ("HOME", "USER", "LOGNAME", "SHELL", "PWD", "OLDPWD")  # the Hub knows these of its own machine
_FOLDER = "/run/siflab"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def server_environment(container, given, port, folder):
    """`container` is the shim's environment, `given` the Hub's; `folder` is the private folder, as it is inside."""
    env = dict(container)
    env.update((name, _moved(str(value), folder)) for name, value in given.items() if name not in _CONTAINERS_OWN)
    env["PATH"] = os.path.join(folder, "bin") + ":" + (env.get("PATH") or _PATH)
    env["SIFLAB_PATH"] = env["PATH"]  # profile.sh puts it back where /etc/profile resets PATH
    env["SIFLAB_DIR"] = folder
    env["SIFLAB_SESSION"] = os.path.join(folder, "session.json")
    env["SIFLAB_SITE"] = os.path.join(folder, "site.json")
    if "JUPYTERHUB_SERVICE_URL" in env:
        env["JUPYTERHUB_SERVICE_URL"] = with_port(env["JUPYTERHUB_SERVICE_URL"], port)
    if "Apptainer" in env.get("PROMPT_COMMAND", "") or "Singularity" in env.get("PROMPT_COMMAND", ""):
        del env["PROMPT_COMMAND"]  # it replaces the prompt of terminals by "Apptainer> "
    if "TMPDIR" in env and not os.access(env["TMPDIR"], os.W_OK | os.X_OK):
        del env["TMPDIR"]  # the node's, and no bind carries it: mktemp would fail
    if not os.access(env.get("SHELL", ""), os.X_OK):  # the login shell of the user's account may not be in the image
        env["SHELL"] = shutil.which("bash", path=env["PATH"]) or "/bin/sh"
    return env


def _moved(value, folder):
    """The Hub writes the private folder as containers of site.yaml have it."""
    return folder + value[len(_FOLDER) :] if value.startswith(_FOLDER + "/") else value


def with_port(url, port):
    """The URL with another port."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition(":")[0] if parts.port is not None else parts.netloc
    return urlunsplit((parts.scheme, "%s:%d" % (host, port), parts.path, parts.query, parts.fragment))
