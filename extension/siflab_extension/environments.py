"""The person's own environments, as this server's pages make them: one piece of work at a time, followed by polling."""

import threading
from collections import deque
from collections.abc import Callable
from datetime import datetime
from logging import getLogger
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from siflab.environments import Environment, Making, Place, Store, create, install, rebuild, remove
from siflab.environments.requirements import checked
from siflab.environments.stop import Stop, Stopped
from siflab.errors import Conflict, Internal, NotFound, SiflabError
from siflab.text import Text

LINES = 200
"""As many of pip's last lines are kept for a page."""
_END = 5.0  # seconds that a stopping server waits for what is half made to be cleared away
_log = getLogger(__name__)


class EnvironmentRequest(BaseModel):
    """`EnvironmentRequest` of openapi.yaml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Literal["create", "install", "rebuild", "remove"]
    name: str = Field(max_length=64)
    packages: list[str] = Field([], max_length=2000)
    root: str | None = None
    from_source: bool = False
    id: str | None = None


class Job:
    """One piece of work, in a thread of its own."""

    def __init__(self, place: Place, request: EnvironmentRequest, number: int) -> None:
        self._place, self._request, self._number = place, request, number
        self._stop, self._lines = Stop(), deque[str](maxlen=LINES)
        self._step = Text("beginning", "正在开始")
        self._state = "running"
        self._error: SiflabError | None = None
        self._environment: Environment | None = None
        self._changes: dict[str, tuple[str | None, str | None]] = {}
        self._started_at = datetime.now().astimezone().isoformat(timespec="seconds")
        self._packages = checked(request.packages)  # raises Invalid before anything begins
        self.thread = threading.Thread(target=self._run, daemon=True, name="siflab-environment")

    @property
    def is_running(self) -> bool:
        return self._state == "running"

    def stop(self) -> None:
        self._stop.request()

    def as_dict(self) -> dict[str, Any]:
        """The `EnvironmentJob` of openapi.yaml."""
        return {
            "number": self._number,
            "action": self._request.action,
            "name": self._request.name,
            "state": self._state,
            "step": self._step.as_dict(),
            "lines": list(self._lines),
            "failure": self._error.as_failure() if self._error else None,
            "environment": self._environment.as_dict() if self._environment else None,
            "changes": [{"name": name, "before": pair[0], "now": pair[1]} for name, pair in self._changes.items()],
            "started_at": self._started_at,
        }

    def _run(self) -> None:
        state = "failed"
        try:
            self._environment = self._work(Making(step=self._hear, say=self._lines.append, stop=self._stop))
            state = "done"
        except Stopped as stopped:
            self._error, state = stopped, "stopped"
        except SiflabError as error:
            self._error = error
        except Exception as error:
            _log.exception("siflab: an error that has no message of its own")
            words = f"{type(error).__name__}: {error}"
            self._error = Internal(Text(f"It failed unexpectedly ({words}).", f"意外错误（{words}）。"))
        self._state = state  # last: who sees it ended sees all of it

    def _hear(self, step: Text) -> None:
        self._step = step

    def _work(self, making: Making) -> Environment:
        place, request = self._place, self._request
        if request.action == "create":
            return create(
                place, request.name, self._packages, root=request.root, from_source=request.from_source, making=making
            )
        if request.action == "install":
            return install(place, request.name, self._packages, from_source=request.from_source, making=making)
        if request.action == "remove":
            return remove(place, request.name, request.id, making=making)
        done = rebuild(place, request.name, making=making)
        self._changes = done.changes
        return done.environment


class EnvironmentJobs:
    """`find_place` gives the place of this server's session; None outside of one."""

    def __init__(self, find_place: Callable[[], Place | None] = Place.of_session) -> None:
        self._find_place = find_place
        self._job: Job | None = None
        self._count = 0
        self._lock = threading.Lock()

    def view(self) -> dict[str, Any]:
        """The answer to ``GET environments``."""
        try:
            place = self._place()
        except SiflabError as error:
            why = error.message.as_dict()
            return {"available": False, "why_not": why, "image": None, "roots": [], "environments": [], "job": None}
        return {
            "available": True,
            "why_not": None,
            "image": {"id": place.image_id, "title": place.title.as_dict(), "identity": place.identity},
            "roots": list(place.roots()),
            "environments": [each.as_dict() for each in Store(place).all()],
            "job": self.job(),
        }

    def job(self) -> dict[str, Any] | None:
        return self._job.as_dict() if self._job else None

    def begin(self, request: EnvironmentRequest) -> dict[str, Any]:
        """Raises Conflict while another one is at work, Invalid for a list that cannot be."""
        place = self._place()
        with self._lock:
            if self._job is not None and self._job.is_running:
                raise Conflict(
                    Text(
                        "another environment is being worked on; wait until that is done, or stop it",
                        "正在处理另一个环境；请等它完成或将其停止",
                    )
                )
            self._count += 1
            self._job = Job(place, request, self._count)
            self._job.thread.start()
            return self._job.as_dict()

    def stop(self) -> dict[str, Any]:
        """What is half made is cleared away. Raises NotFound when there was never one."""
        if self._job is None:
            raise NotFound(Text("nothing is being worked on", "没有正在进行的操作"))
        self._job.stop()
        return self._job.as_dict()

    def close(self) -> None:
        """The server ends: so does the work."""
        if self._job is not None and self._job.is_running:
            self._job.stop()
            self._job.thread.join(_END)

    def _place(self) -> Place:
        place = self._find_place()
        if place is None:
            raise NotFound(
                Text(
                    "This server runs in no session of Siflab, so it has no image to make an environment for.",
                    "此服务器不在 Siflab 会话中运行，没有可供创建环境的镜像。",
                )
            )
        return place
