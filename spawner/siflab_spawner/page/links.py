"""Links to a ready choice: ``/hub/spawn?profile=a100-1&gpus=2``, or with JupyterHub 6's prefix ``opt-``.

JupyterHub (5.3 and 6.1) starts a server as soon as such a page is opened: a GET, for which it asks no XSRF token, so
any page of the web could start jobs in a visitor's name. Here a link only fills in the form. The query is taken out of
the request in the last hook before JupyterHub looks at it; were it to look earlier, `from_query` refuses.
"""

from typing import TYPE_CHECKING, Any

from jupyterhub.handlers.pages import SpawnHandler
from tornado import web

from siflab.text import Text
from siflab_spawner import language
from siflab_spawner.page.options import KEYS, read_form

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

_PREFIX = "opt-"
_HUBS_OWN = ("next", "display_name")
_PRESS_START = Text("Look at the choice below, then press Start.", "请确认下面的选择，然后按“启动”。")


def take(spawner: "SingularitySlurmSpawner") -> dict[str, str]:
    """What the link says that is being opened; empty for all other requests. It is as it was sent: hostile until it has
    been validated, like a form."""
    handler = spawner.handler
    if spawner.drop_in is not None or not isinstance(handler, SpawnHandler) or handler.request.method != "GET":
        return {}
    query = handler.request.query_arguments
    handler.request.query_arguments = {name: query[name] for name in _HUBS_OWN if name in query}
    return link_options(
        {name: [value.decode("utf-8", "replace") for value in values] for name, values in query.items()}
    )


def link_options(query: dict[str, list[str]]) -> dict[str, str]:
    """The choice of a query. Where one name has the prefix, those without are no options (as in JupyterHub 6)."""
    prefixed = {name[len(_PREFIX) :]: values for name, values in query.items() if name.startswith(_PREFIX)}
    options = read_form(prefixed or {name: values for name, values in query.items() if name not in _HUBS_OWN})
    return {name: value for name, value in options.items() if name in KEYS}


def from_query(spawner: "SingularitySlurmSpawner", query: dict[str, Any]) -> dict[str, Any]:
    """Instead of `options_from_query`: nothing is started. JupyterHub shows the form with the message. (With
    batchspawner's settings there is no form, and JupyterHub starts a server by a GET even without a query.)"""
    if spawner.drop_in is not None:
        return read_form(query)
    failure = web.HTTPError(400, "a link starts nothing", reason="Bad Request")
    words = _PRESS_START.to(language.language_of(spawner.user.name) or "en")
    failure.jupyterhub_message = words  # type: ignore[attr-defined]
    raise failure
