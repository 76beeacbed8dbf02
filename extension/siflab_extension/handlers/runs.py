"""The runs of this user: `runs`, `runs/{id}`, and below that `cancel`, `log`, `metrics`, `points`, `points/rerun`.

What changes a run also makes the watcher look, so that every open page of this server sees it at once.
"""

from typing import Any

from jupyter_server.auth.decorator import authorized
from tornado import web

from siflab_extension.handlers.base import SiflabHandler
from siflab_extension.requests import read_integer, read_request


class RunsHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self) -> None:
        await self.answer(lambda runs, viewer: runs.list_runs(viewer).as_dict())

    @web.authenticated
    @authorized
    async def post(self) -> None:
        body, root = self.request.body, self.service.root
        await self.answer(
            lambda runs, viewer: runs.submit(viewer, read_request(runs.RunRequest, body, root)).as_dict(), status=201
        )
        self.service.watcher.nudge()


class RunHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.get_run(viewer, run_id).as_dict())


class CancelHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.cancel(viewer, run_id).as_dict())
        self.service.watcher.nudge()


class LogHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        attempt_value, offset_value = self.get_query_argument("attempt", None), self.get_query_argument("offset", None)

        def work(runs: Any, viewer: Any) -> Any:
            attempt = read_integer("attempt", attempt_value, minimum=1)
            offset = read_integer("offset", offset_value) or 0
            return runs.read_log(viewer, run_id, attempt, offset).as_dict()

        await self.answer(work)


class MetricsHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        attempt_value, point_value = self.get_query_argument("attempt", None), self.get_query_argument("point", None)

        def work(runs: Any, viewer: Any) -> Any:
            attempt = read_integer("attempt", attempt_value, minimum=1)
            point = read_integer("point", point_value, minimum=0)
            return runs.get_metrics(viewer, run_id, attempt, point).as_dict()

        await self.answer(work)


class PointsHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.list_points(viewer, run_id).as_dict())


class RerunPointsHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.rerun_failed(viewer, run_id).as_dict())
        self.service.watcher.nudge()
