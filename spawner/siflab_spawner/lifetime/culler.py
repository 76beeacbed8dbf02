"""``python -m siflab_spawner.lifetime.culler``: jupyterhub-idle-culler with site.yaml's limits, a service of the Hub.

`jupyterhub_idle_culler` itself serves as well where one limit is enough for all.
"""

from datetime import timedelta
from typing import Any

from jupyterhub_idle_culler import IdleCuller

from siflab.config import Site, load_site
from siflab.config.session_rules import IdleSite
from siflab_spawner.lifetime.idle import limit_of


class Arbiter:
    """Whether a server is to be stopped, by the limit for what it was started with."""

    def __init__(self, site: Site, idle: IdleSite) -> None:
        self._site, self._idle = site, idle

    def __call__(self, *, inactive: timedelta | None, server: dict[str, Any], **_: Any) -> bool:
        limit = limit_of(self._site, self._idle, server.get("user_options"))
        return inactive is not None and inactive.total_seconds() >= limit


def main() -> None:
    site = load_site()
    idle = site.session.idle
    if idle is None:
        raise SystemExit("siflab: site.yaml has no session.idle, so nothing is culled")
    every = max(1, min(60, idle.shortest // 10))
    IdleCuller.launch_instance(
        timeout=idle.shortest, cull_every=every, config_file="", cull_arbiter_hook=Arbiter(site, idle)
    )


if __name__ == "__main__":
    main()
