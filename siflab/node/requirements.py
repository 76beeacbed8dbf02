"""What an image must have for JupyterHub's single-user server, looked at without importing any of it."""

import importlib.machinery
import importlib.util
import os
import sys

from .words import Words

_MODULE = "jupyterhub.singleuser"


def missing(argv, environment):
    """Words about what this image lacks to run `argv`; None when it has all, or when a site starts something else.
    `environment` is the server's."""
    if [str(word) for word in argv[1:3]] != ["-m", _MODULE]:
        return None
    kept = list(sys.path)
    sys.path.extend(part for part in environment.get("PYTHONPATH", "").split(os.pathsep) if part)
    try:
        package, server = _MODULE.split(".")
        hub = importlib.util.find_spec(package)
        if hub is None or importlib.machinery.PathFinder.find_spec(server, hub.submodule_search_locations) is None:
            return _lacks("JupyterHub", "jupyterhub")
        chosen = environment.get("JUPYTERHUB_DEFAULT_URL") or environment.get("JUPYTERHUB_SINGLEUSER_APP")
        if not chosen and importlib.util.find_spec("jupyterlab") is None:
            return _lacks("JupyterLab", "jupyterlab")
    finally:
        sys.path[:] = kept
    return None


def _lacks(name, package):
    python = "%s (Python %d.%d)" % (sys.executable, sys.version_info[0], sys.version_info[1])
    return Words(
        "%s in the image has no %s (package %s); tell your administrator (`images` in site.yaml: path, python)"
        % (python, name, package),
        "镜像中的 %s 没有安装 %s（软件包 %s）；请联系管理员（site.yaml 中的 `images`：path、python）"
        % (python, name, package),
    )
