"""Routes of our own in JupyterHub's list of handlers."""

from collections.abc import Sequence
from typing import Any

from jupyterhub.apihandlers import default_handlers
from jupyterhub.app import JupyterHub
from jupyterhub.utils import url_path_join


def add_routes(routes: Sequence[tuple[str, Any]]) -> None:
    """Each path once. A Hub that runs already (wrapspawner loads the spawner's class at the first start) gets them
    too, before its own."""
    paths = {path for path, _ in routes}
    default_handlers[:] = [route for route in default_handlers if route[0] not in paths] + list(routes)
    app = JupyterHub.instance() if JupyterHub.initialized() else None
    if app is not None and getattr(app, "tornado_application", None) is not None:
        late = [(url_path_join(app.hub_prefix, path), handler) for path, handler in routes]
        app.tornado_application.add_handlers(".*", late)
