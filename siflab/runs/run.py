"""A run as people and programs see it: the `Run` of openapi.yaml."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from siflab.runs import words
from siflab.runs.diagnosing import Diagnosis
from siflab.text import Text


@dataclass(frozen=True)
class Run:
    """Paths are as the viewer sees them; `resources`, `progress` and `error` are dicts of openapi.yaml's shapes."""

    id: str
    name: str
    state: str
    source: str
    folder: str
    created_at: datetime
    resources: dict[str, Any]
    attempts: int
    mode: str = "notebook"
    kind: str = "notebook"
    reason: Text | None = None
    job_id: str | None = None
    source_sha256: str | None = None
    source_changed: bool | None = None
    output: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    estimated_start: datetime | None = None
    node: str | None = None
    exit_code: int | None = None
    error: dict[str, Any] | None = None
    progress: dict[str, Any] | None = None
    points: dict[str, int] | None = None
    diagnosis: Diagnosis | None = None

    @property
    def state_text(self) -> Text:
        return words.STATES[self.state]

    @property
    def ended(self) -> bool:
        return self.state in words.ENDED

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "mode": self.mode,
            "kind": self.kind,
            "state": self.state,
            "state_text": self.state_text.as_dict(),
            "reason": self.reason.as_dict() if self.reason else None,
            "job_id": self.job_id,
            "source": self.source,
            "source_sha256": self.source_sha256,
            "source_changed": self.source_changed,
            "folder": self.folder,
            "output": self.output,
            "created_at": self.created_at.isoformat(),
            "started_at": _iso(self.started_at),
            "ended_at": _iso(self.ended_at),
            "estimated_start": _iso(self.estimated_start),
            "node": self.node,
            "exit_code": self.exit_code,
            "error": self.error,
            "resources": self.resources,
            "progress": self.progress,
            "attempts": self.attempts,
            "points": self.points,
            "diagnosis": self.diagnosis.as_dict() if self.diagnosis else None,
        }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
