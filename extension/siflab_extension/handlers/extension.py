"""More time for this session: `session/extension`."""

from typing import Any

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict, Field
from tornado import web

from siflab_extension.handlers.base import SiflabHandler
from siflab_extension.requests import read_model


class ExtensionRequest(BaseModel):
    """As openapi.yaml has it; the Hub looks at it more closely."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    seconds: int = Field(ge=1)
    ends_at: str | None = Field(None, max_length=40)


class ExtensionHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.answer(lambda runs, viewer: runs.extension_view(viewer))

    @web.authenticated
    @authorized
    async def post(self) -> None:
        body = self.request.body

        def work(runs: Any, viewer: Any) -> dict[str, Any]:
            request = read_model(ExtensionRequest, body)
            answer: dict[str, Any] = runs.extend_session(viewer, request.seconds, request.ends_at)
            return answer

        await self.answer(work)
