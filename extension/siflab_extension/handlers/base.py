"""What all REST handlers have in common: JSON answers, failures in one shape, nothing cached."""

import json
from collections.abc import Callable
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado import web

from siflab.errors import SiflabError
from siflab.text import Text
from siflab_extension.service import SETTING, Service

#: The name that an `Authorizer` of Jupyter Server is asked about, with the actions `read` (GET) and `write` (POST).
RESOURCE = "siflab"

#: Failures that Jupyter Server or Tornado finds before a handler is reached: code and message for each HTTP status.
FAILURES: dict[int, tuple[str, Text]] = {
    400: ("invalid", Text("The request is not valid.", "请求无效。")),
    403: (
        "forbidden",
        Text(
            "This is not allowed: you are not logged in any more, or not permitted to do this. Reload the page.",
            "不允许此操作：您的登录已失效，或者没有权限。请刷新页面。",
        ),
    ),
    404: ("not-found", Text("There is no such address in Siflab's API.", "Siflab 的 API 中没有这个地址。")),
    426: (
        "upgrade-required",
        Text("This address takes WebSocket connections only.", "该地址只接受 WebSocket 连接。"),
    ),
    405: ("method-not-allowed", Text("This address does not take such a request.", "该地址不接受这种请求。")),
}
UNEXPECTED = (
    "internal",
    Text(
        "The server failed unexpectedly. Its log has the details; please report them.",
        "服务器遇到意外错误。详情见服务器日志，请上报。",
    ),
)


def failure(status: int) -> str:
    """The `Failure` of an HTTP status, as JSON."""
    code, message = FAILURES.get(status, UNEXPECTED)
    return json.dumps({"code": code, "message": message.as_dict(), "errors": []})


class SiflabHandler(APIHandler):
    """Base of the REST handlers; each of them has the methods of its path in openapi.yaml and no more."""

    auth_resource = RESOURCE

    @property
    def service(self) -> Service:
        service: Service = self.settings[SETTING]
        return service

    @property
    def _track_activity(self) -> bool:  # type: ignore[override]
        """Only what a person does counts as activity: a forgotten page that asks for news keeps no session alive."""
        return self.request.method == "POST"

    def set_default_headers(self) -> None:
        super().set_default_headers()
        self.set_header("Cache-Control", "no-store")

    def compute_etag(self) -> None:
        """None, as nothing is cached."""

    async def answer(self, work: Callable[[Any, Any], Any], status: int = 200) -> bool:
        """Answer with what `work(runs, viewer)` gives as JSON, or with its failure; tells which of the two it was."""
        try:
            result = await self.service.engine.call(work)
        except SiflabError as error:
            self.set_status(error.status)
            await self.finish(json.dumps(error.as_failure()))
            return False
        self.set_status(status)
        await self.finish(json.dumps(result))
        return True

    def write_error(self, status_code: int, **_: Any) -> None:
        """The `Failure` of what is found outside our own code, such as a missing token or an unknown path."""
        self.finish(failure(status_code))


class NoSuchRoute(SiflabHandler):
    """Everything below `siflab/` that openapi.yaml does not have; without it the answer would be a page of HTML."""

    @web.authenticated
    @authorized
    def get(self) -> None:
        raise web.HTTPError(404)

    @web.authenticated
    @authorized
    def post(self) -> None:
        raise web.HTTPError(404)
