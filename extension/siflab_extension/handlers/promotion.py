"""What a request would do before it is made: `preflight`, `preview`; what a notebook takes: `parameters`."""

from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from siflab_extension.handlers.base import SiflabHandler
from siflab_extension.paths import notebook_path
from siflab_extension.requests import read_request


class PreflightHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        body, root = self.request.body, self.service.root

        def work(runs: Any, viewer: Any) -> dict[str, Any]:
            findings = runs.preflight(viewer, read_request(runs.RunRequest, body, root))
            return {"findings": [finding.as_dict() for finding in findings]}

        await self.answer(work)


class PreviewHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        body, root = self.request.body, self.service.root
        await self.answer(
            lambda runs, viewer: runs.preview(viewer, read_request(runs.RunRequest, body, root)).as_dict()
        )


class ParametersHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        path, root = self.get_query_argument("path", ""), self.service.root
        await self.answer(lambda runs, viewer: runs.parameters_view(viewer, notebook_path(path, root)))
