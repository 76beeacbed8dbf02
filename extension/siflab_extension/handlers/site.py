"""What there is to choose from and where we are: `site`, `session`, `inventory`."""

from jupyter_server.auth.decorator import authorized
from tornado import web

from siflab_extension.handlers.base import SiflabHandler


class SiteHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        root = str(self.service.root)
        await self.answer(lambda runs, viewer: {**runs.site_view(viewer), "server_root": root})


class SessionHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.answer(lambda runs, viewer: runs.session_view(viewer))


class InventoryHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.answer(lambda runs, viewer: runs.inventory_view(viewer))
