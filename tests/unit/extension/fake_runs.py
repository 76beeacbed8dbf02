"""In the place of the module `siflab.runs`: answers from memory, remembers what it was asked."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from siflab.errors import NotFound, SiflabError
from siflab.runs import RunRequest
from siflab.text import Text

TEXT = {"en": "words", "zh": "文字"}
RESOURCES = {
    "partition": "gpu-a100",
    "nodes": 1,
    "gpus": 2,
    "gpu_type": "a100",
    "cpus": 8,
    "memory_mib": 16384,
    "time_seconds": 7200,
    "image": "pytorch",
}
SITE = {
    "api_version": "1",
    "siflab_version": "0.1.0",
    "name": "demo",
    "title": TEXT,
    "user": "user1",
    "images": [{"id": "pytorch", "title": TEXT, "digest": None, "current": True}],
    "profiles": [],
    "binds": [{"source": "/home", "target": "/workspace", "read_only": False}],
    "runs_root": "/workspace/user1/siflab-runs",
    "can_submit": True,
    "cannot_submit_reason": None,
    "timezone": "UTC",
}
EXTENSION = {
    "allowed": True,
    "why_not": None,
    "ends_at": "2026-12-01T13:00:00+08:00",
    "longest_seconds": 3600,
    "longest_because": TEXT,
    "step_seconds": 3600,
    "used": 0,
    "times": None,
}
SESSION = {
    "in_slurm": True,
    "job_id": "7",
    "node": "gpu01",
    "gpus": 1,
    "ends_at": "2026-12-01T12:00:00+08:00",
    "extension": EXTENSION,
}
INVENTORY = {"partitions": [], "taken_at": "2026-12-01T12:00:00+08:00"}
FINDING = {"code": "magic", "severity": "warning", "message": TEXT, "cell": 2, "line": 1}
PARAMETER = {
    "name": "rate",
    "kind": "float",
    "default": "0.1",
    "value": 0.1,
    "help": "learning rate",
    "cell": 0,
    "line": 1,
}
PREVIEW = {"script": "#!/bin/bash\n", "argv": ["sbatch", "job.sh"], "gpu_hours": 4.0, "resources": RESOURCES}


def sample_run(run_id: str, state: str = "running", **changes: Any) -> dict[str, Any]:
    return {
        "id": run_id,
        "name": "train",
        "state": state,
        "source": "/workspace/user1/train.ipynb",
        "folder": f"/workspace/user1/siflab-runs/{run_id}",
        "created_at": "2026-12-01T12:00:00+08:00",
        "resources": RESOURCES,
        "progress": {"cells_total": 3, "cells_done": 1},
        "attempts": 1,
        "mode": "notebook",
        "job_id": "8",
        **changes,
    }


@dataclass
class Result:
    value: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return self.value


class Viewer:
    @classmethod
    def here(cls) -> "Viewer":
        return cls()


class FakeRuns:
    """`calls` has each function's name and arguments; `failure` is raised by every function; `gate` holds them up."""

    RunRequest = RunRequest

    def __init__(self) -> None:
        self.Viewer = Viewer
        self.calls: list[tuple[str, tuple[Any, ...]]] = []
        self.runs: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, str] = {}
        self.reachable = True
        self.failure: Exception | None = None
        self.gate: threading.Event | None = None

    def count(self, name: str) -> int:
        return sum(called == name for called, _ in self.calls)

    def site_view(self, _viewer: Viewer) -> dict[str, Any]:
        return self._answer("site_view", lambda: SITE)

    def session_view(self, _viewer: Viewer) -> dict[str, Any]:
        return self._answer("session_view", lambda: SESSION)

    def extension_view(self, _viewer: Viewer) -> dict[str, Any]:
        return self._answer("extension_view", lambda: EXTENSION)

    def extend_session(self, _viewer: Viewer, seconds: int, ends_at: str | None) -> dict[str, Any]:
        return self._answer("extend_session", lambda: EXTENSION, seconds, ends_at)

    def inventory_view(self, _viewer: Viewer) -> dict[str, Any]:
        return self._answer("inventory_view", lambda: INVENTORY)

    def preflight(self, _viewer: Viewer, request: RunRequest) -> list[Result]:
        return self._answer("preflight", lambda: [Result(FINDING)], request)

    def parameters_view(self, _viewer: Viewer, path: str) -> dict[str, Any]:
        return self._answer("parameters_view", lambda: {"parameters": [PARAMETER]}, path)

    def preview(self, _viewer: Viewer, request: RunRequest) -> Result:
        return self._answer("preview", lambda: Result(PREVIEW), request)

    def submit(self, _viewer: Viewer, request: RunRequest) -> Result:
        self.runs["new"] = sample_run("new", "pending", source=request.path)
        return self._answer("submit", lambda: Result(self.runs["new"]), request)

    def list_runs(self, _viewer: Viewer) -> Result:
        slurm = {"reachable": self.reachable, "message": None if self.reachable else TEXT}
        return self._answer("list_runs", lambda: Result({"runs": list(self.runs.values()), "slurm": slurm}))

    def get_run(self, _viewer: Viewer, run_id: str) -> Result:
        return self._answer("get_run", lambda: Result(self._run(run_id)), run_id)

    def cancel(self, _viewer: Viewer, run_id: str) -> Result:
        self.runs[run_id] = {**self._run(run_id), "state": "cancelled"}
        return self._answer("cancel", lambda: Result(self.runs[run_id]), run_id)

    def list_points(self, _viewer: Viewer, run_id: str) -> Result:
        point = {"number": 0, "parameters": {"rate": 0.1}, "state": "completed", "values": {"loss": 1.5}}
        table = {"run": run_id, "parameters": ["rate"], "values": ["loss"], "points": [point]}
        return self._answer("list_points", lambda: Result(table), run_id)

    def rerun_failed(self, _viewer: Viewer, run_id: str) -> Result:
        return self._answer("rerun_failed", lambda: Result(self._run(run_id)), run_id)

    def rerun(self, _viewer: Viewer, run: str, changes: dict[str, Any]) -> Result:
        again = {"run": self._run(run), "differences": [{"what": "image", "text": TEXT}]}
        return self._answer("rerun", lambda: Result(again), run, changes)

    def resume(self, _viewer: Viewer, run_id: str) -> Result:
        return self._answer("resume", lambda: Result(self._run(run_id)), run_id)

    def repair(self, _viewer: Viewer, run: str) -> Result:
        attempt = {"attempt": 1, "state": "whole", "text": TEXT}
        return self._answer("repair", lambda: Result({"id": run, "attempts": [attempt]}), run)

    def get_provenance(self, _viewer: Viewer, run_id: str) -> dict[str, Any]:
        told = {"version": 1, "id": run_id, "attempts": [], "slurm": []}
        return self._answer("get_provenance", lambda: told, run_id)

    def get_metrics(self, _viewer: Viewer, run_id: str, attempt: int | None, point: int | None) -> Result:
        told = {"run": run_id, "attempt": attempt, "attempts": [], "point": point, "began_at": None}
        empty = {name: [] for name in ("nodes", "series", "recorded", "advice")}
        return self._answer("get_metrics", lambda: Result({**told, **empty}), run_id, attempt, point)

    def follow_metrics(
        self, _viewer: Viewer, run_id: str, attempt: int | None, point: int | None, position: str | None
    ) -> Result:
        """A sample more each time, until the run is over."""

        def piece() -> Result:
            ended, step = self._run(run_id)["state"] == "completed", int(position.split(":")[1]) if position else 0
            told = {"run": run_id, "attempt": 1, "attempts": [1], "point": point, "began_at": None}
            empty = {name: [] for name in ("nodes", "series", "recorded", "advice")}
            follows = {"position": f"1:{step + 1}", "whole": position is None, "complete": ended}
            return Result({"values": {**told, **empty}, **follows})

        return self._answer("follow_metrics", piece, run_id, attempt, point, position)

    def read_log(self, _viewer: Viewer, run_id: str, attempt: int | None, offset: int) -> Result:
        def piece() -> Result:
            ended = self._run(run_id)["state"] == "completed"
            text = self.logs.get(run_id, "")
            start = offset if offset >= 0 else max(0, len(text) + offset)
            part = text[start : start + 4]
            end = start + len(part)
            complete = ended and end == len(text)
            return Result({"text": part, "offset": start, "next_offset": end, "size": len(text), "complete": complete})

        return self._answer("read_log", piece, run_id, attempt, offset)

    def _run(self, run_id: str) -> dict[str, Any]:
        if run_id not in self.runs:
            raise NotFound(Text(f"There is no run {run_id}.", f"没有任务 {run_id}。"))
        return self.runs[run_id]

    def _answer(self, name: str, result: Callable[[], Any], *arguments: Any) -> Any:
        self.calls.append((name, arguments))
        if self.gate is not None and not self.gate.wait(10):
            raise SiflabError(Text.plain("the test never opened the gate"))
        if self.failure is not None:
            raise self.failure
        return result()
