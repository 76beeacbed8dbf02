"""What is done with a run that is over (`runs/{id}/rerun`, `resume`, `repair`), and its `provenance`."""

from typing import Any

from jupyter_server.auth.decorator import authorized
from pydantic import BaseModel, ConfigDict, Field, JsonValue
from tornado import web

from siflab_extension.handlers.base import SiflabHandler
from siflab_extension.requests import read_model


class RerunRequest(BaseModel):
    """`changes` are fields of a RunRequest with their new values."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    changes: dict[str, JsonValue] = Field(default_factory=dict)


class RerunHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self, run_id: str) -> None:
        body = self.request.body

        def work(runs: Any, viewer: Any) -> Any:
            request = read_model(RerunRequest, b"{}" if body.strip() in (b"", b"null") else body)
            return runs.rerun(viewer, run_id, dict(request.changes)).as_dict()

        await self.answer(work, status=201)
        self.service.watcher.nudge()


class ResumeHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.resume(viewer, run_id).as_dict())
        self.service.watcher.nudge()


class RepairHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def post(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.repair(viewer, run_id).as_dict())
        self.service.watcher.nudge()


class ProvenanceHandler(SiflabHandler):
    @web.authenticated
    @authorized
    async def get(self, run_id: str) -> None:
        await self.answer(lambda runs, viewer: runs.get_provenance(viewer, run_id))
