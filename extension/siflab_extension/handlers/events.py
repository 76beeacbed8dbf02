"""The event stream of a page: a WebSocket around a `Stream`."""

import json
from typing import Any

from jupyter_core.utils import ensure_async
from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado import web
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from siflab_extension.events import Event
from siflab_extension.handlers.base import RESOURCE, failure
from siflab_extension.service import SETTING, Service
from siflab_extension.stream import Stream


class EventsHandler(WebSocketMixin, WebSocketHandler, JupyterHandler):
    """Who may read Siflab's API may listen; this is decided before the upgrade, so that others get a 403."""

    auth_resource = RESOURCE
    stream_of_page: Stream | None = None

    @property
    def service(self) -> Service:
        service: Service = self.settings[SETTING]
        return service

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        allowed = await ensure_async(self.authorizer.is_authorized(self, self.current_user, "read", RESOURCE))
        if not allowed:
            raise web.HTTPError(403)
        if self.request.headers.get("Upgrade", "").lower() != "websocket":
            raise web.HTTPError(426)
        await super().get(*args, **kwargs)

    def write_error(self, status_code: int, **_: Any) -> None:
        """What stands before the upgrade is answered as all of the API is."""
        self.set_header("Content-Type", "application/json")
        self.set_header("Cache-Control", "no-store")
        self.finish(failure(status_code))

    def open(self, *args: Any, **kwargs: Any) -> None:
        super().open(*args, **kwargs)
        service = self.service
        self.stream_of_page = Stream(self.send_event, service.watcher, service.engine, service.stream_pace)
        service.pages.add(self)

    def on_message(self, message: str | bytes) -> None:
        if self.stream_of_page is not None:
            self.stream_of_page.receive(message)

    def on_close(self) -> None:
        self.service.pages.discard(self)
        if self.stream_of_page is not None:
            self.stream_of_page.stop()
            self.stream_of_page = None

    def leave(self) -> None:
        self.close(1001, "the server stops")
        self.on_close()

    async def send_event(self, event: Event) -> None:
        """Write one event; returns when it was given to the network, so that a slow page slows its own stream only."""
        try:
            await self.write_message(json.dumps(event))
        except WebSocketClosedError:
            self.on_close()
