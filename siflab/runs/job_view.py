"""How a run's container sees the host's paths."""

import os

from siflab.config import Bind, Site
from siflab.container.binds import PathMap


class JobView:
    """The container of a run has the site's binds, and the home of its user.

    `follow_links`: this machine has the host's file system, so that symbolic links can be looked at. A session has
    not; what a link there leads to is the same in the run's container.
    """

    def __init__(self, site: Site, home: str, follow_links: bool = True) -> None:
        self._real = os.path.realpath if follow_links else os.path.normpath
        self.binds = site.singularity.binds
        self._map = PathMap(self.binds) if self.binds else None
        self._home = os.path.normpath(home)
        self.home = (self._home, self._carried(self._home) or self._home)

    def inside(self, host_path: str) -> str | None:
        """The path inside of a path of the host, or None. A symbolic link that leads out of its bind would point at
        nothing inside, so links are followed first."""
        real = self._real(host_path)
        found = self._carried(real)
        if found is None and real != os.path.normpath(host_path) and self._carried_really(real):
            found = self._carried(os.path.normpath(host_path))
        if found is None and (below := self._below(real, self._real(self._home))) is not None:
            found = os.path.normpath(self.home[1] + below)
        return found

    def extra_binds(self, host_folder: str) -> tuple[Bind, ...]:
        """What must be bound besides, so that the container has this folder."""
        if self.inside(host_folder) is not None:
            return ()
        return (Bind(source=host_folder, target=host_folder),)

    def _carried(self, host_path: str) -> str | None:
        return self._map.to_inside(host_path) if self._map else None

    def _carried_really(self, real: str) -> bool:
        """A bind whose own source is a link carries what lies behind it."""
        return any(self._below(real, self._real(bind.source)) is not None for bind in self.binds)

    @staticmethod
    def _below(path: str, folder: str) -> str | None:
        if path == folder:
            return ""
        prefix = folder.rstrip("/") + "/"
        return "/" + path[len(prefix) :] if path.startswith(prefix) else None
