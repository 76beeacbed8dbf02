"""A look at a Hub's configuration when it starts, before anything else is done: what cannot work is told then.

JupyterHub has no hook for that. It loads the spawner classes of all entry points before its configuration, also those
that it will not use, so its own next step, `init_secrets` (the same in 5.3 and 6.1), is wrapped.
"""

from collections.abc import Callable
from typing import Any

from jupyterhub.app import JupyterHub

_checks: list[Callable[[Any], None]] = []


def when_configured(check: Callable[[Any], None]) -> None:
    """Have ``check(app)`` called once a Hub has read its configuration; to end the start it raises SystemExit. A Hub
    that is up already (wrapspawner loads the classes of its profiles late) is not looked at."""
    if not _checks:
        _wrap()
    _checks.append(check)


def is_used(app: Any, spawner_class: type[Any]) -> bool:
    """Whether the Hub's spawner class is this one; one that is wrapped is not known before it is used."""
    return isinstance(app.spawner_class, type) and issubclass(app.spawner_class, spawner_class)


def _wrap() -> None:
    next_step = JupyterHub.init_secrets

    def init_secrets(self: Any) -> None:
        for check in _checks:
            check(self)
        next_step(self)

    JupyterHub.init_secrets = init_secrets
