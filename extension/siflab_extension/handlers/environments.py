"""The person's own environments: `environments`, `environments/job`, `environments/job/stop`."""

from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from siflab_extension.environments import EnvironmentRequest
from siflab_extension.handlers.base import SiflabHandler
from siflab_extension.requests import read_model


class EnvironmentsHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        jobs = self.service.environments
        await self.answer(lambda _runs, _viewer: jobs.view())

    @web.authenticated
    @authorized
    async def post(self) -> None:
        body, jobs = self.request.body, self.service.environments

        def work(_runs: Any, _viewer: Any) -> dict[str, Any]:
            return jobs.begin(read_model(EnvironmentRequest, body))

        await self.answer(work, status=202)


class EnvironmentJobHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        jobs = self.service.environments
        await self.answer(lambda _runs, _viewer: {"job": jobs.job()})


class StopHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self) -> None:
        jobs = self.service.environments
        await self.answer(lambda _runs, _viewer: jobs.stop())
