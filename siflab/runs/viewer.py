"""Who looks, and from where: on a login node paths are the host's; in a session they are the container's.

Run folders hold host paths. A viewer translates them at the border: `host` on the way in, `shown` on the way out.
"""

import os
import pwd
from dataclasses import dataclass, field
from typing import Any

from siflab.config import Bind, Site, load_site
from siflab.container.binds import PathMap
from siflab.errors import Internal
from siflab.runs.session import SessionFacts
from siflab.slurm.execute import Slurm
from siflab.text import Text


@dataclass(frozen=True)
class Viewer:
    """`user` is the account's name, which is Slurm's too (the Hub may call the person otherwise); `home` is the host's.
    `slurm` runs Slurm's commands: in a session they are the bridge's clients. `memory` keeps what was read of runs that
    have ended; it is only a cache."""

    site: Site
    slurm: Slurm
    user: str
    home: str
    in_session: SessionFacts | None = None
    memory: dict[Any, Any] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def here(cls, site: Site | None = None) -> "Viewer":
        """The user and the place of this process. Raises SiteError when site.yaml cannot be used."""
        site = load_site() if site is None else site
        session = SessionFacts.here()
        user, home = _account()
        if session is None:
            return cls(
                site, Slurm(site.slurm.bin, site.slurm.conf, cluster=site.slurm.cluster), user, os.path.normpath(home)
            )
        commands = session.folder / "bin"
        slurm = Slurm(str(commands) if commands.is_dir() else None)
        return cls(site, slurm, user, os.path.normpath(session.home_host or home), session)

    @property
    def binds(self) -> tuple[Bind, ...]:
        """Those of the container that this viewer is in; none on a login node."""
        return self.in_session.binds if self.in_session else ()

    def host(self, shown_path: str) -> str | None:
        """The host's path of a path that this viewer sees; None when it is only in the viewer's container."""
        if self.in_session is None:
            return os.path.normpath(shown_path)
        found = PathMap(self.binds).to_host(shown_path) if self.binds else None
        return found or self._below_home(shown_path, self.in_session.home_inside, self.in_session.home_host)

    def seen(self, host_path: str) -> str | None:
        """The path by which this viewer sees a path of the host; None when it does not."""
        if self.in_session is None:
            return os.path.normpath(host_path)
        found = PathMap(self.binds).to_inside(host_path) if self.binds else None
        return found or self._below_home(host_path, self.in_session.home_host, self.in_session.home_inside)

    def shown(self, host_path: str) -> str:
        """`seen`, or the host's path itself, for a person to read."""
        return self.seen(host_path) or host_path

    def runs_root(self) -> str:
        """The folder of run folders, as this viewer sees it. Raises Internal when it does not."""
        host = self.runs_root_host()
        seen = self.seen(host)
        if seen is None:
            raise Internal(
                Text(
                    f"the folder of runs, {host}, is not visible in this session; ask your administrator to bind it "
                    "(`singularity.binds` and `runs.root` in site.yaml)",
                    f"本会话看不到运行目录 {host}；请管理员挂载它（site.yaml 的 `singularity.binds` 和 `runs.root`）",
                )
            )
        return seen

    def runs_root_host(self) -> str:
        """Below the home; or the user's own folder below one that all users share."""
        root = self.site.runs.root
        return os.path.normpath(f"{self.home}/{root[2:]}" if root.startswith("~/") else f"{root}/{self.user}")

    @staticmethod
    def _below_home(path: str, start: str | None, instead: str | None) -> str | None:
        """A home that no bind carries is mounted by Singularity itself."""
        if not start or not instead:
            return None
        path = os.path.normpath(path)
        if path == start or path.startswith(start.rstrip("/") + "/"):
            return os.path.normpath(instead + path[len(start.rstrip("/")) :])
        return None


def _account() -> tuple[str, str]:
    """Name and home of the user of this process; from the environment where no directory service knows them."""
    try:
        entry = pwd.getpwuid(os.getuid())
    except KeyError:
        return os.environ.get("USER") or str(os.getuid()), os.environ.get("HOME") or "/"
    return entry.pw_name, entry.pw_dir
