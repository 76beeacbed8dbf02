"""What the Hub's pages need of Siflab's: the route of their script and style files, and the folder of the templates."""

from pathlib import Path

from jupyterhub.handlers.static import CacheControlStaticFilesHandler

from siflab_spawner.hub_routes import add_routes
from siflab_spawner.page.static_files import FOLDER, ROUTE

TEMPLATES = str(Path(__file__).parent / "templates" / "hub")
"""For `c.JupyterHub.template_paths`: JupyterHub's pages while a session starts, and when it has failed or ended."""


class StaticFiles(CacheControlStaticFilesHandler):  # type: ignore[misc]
    """No login is asked for: these files are the same for everyone, and hold nothing of anybody."""

    def initialize(self) -> None:
        super().initialize(str(FOLDER))

    def set_extra_headers(self, path: str) -> None:
        super().set_extra_headers(path)
        self.set_header("X-Content-Type-Options", "nosniff")


def register() -> None:
    add_routes([(f"/{ROUTE}(.*)", StaticFiles)])
