"""The session that this process runs in: session.json in its private folder, written by the shim from the claim."""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siflab.config import Bind

DEFAULT_PATH = "/run/siflab/session.json"


@dataclass(frozen=True)
class SessionFacts:
    """What of session.json is used here; `folder` is the private folder, whose bin/ has Slurm's commands."""

    folder: Path
    job_id: str | None
    node: str | None
    profile: str | None
    image_id: str | None
    image_digest: str | None
    image_identity: str | None
    binds: tuple[Bind, ...]
    home_host: str | None
    home_inside: str | None
    started_at: str | None
    ends_at: str | None
    gpus: int

    @classmethod
    def here(cls) -> "SessionFacts | None":
        """None outside of a session, or when its file cannot be read."""
        path = Path(os.environ.get("SIFLAB_SESSION") or DEFAULT_PATH)
        try:
            data = json.loads(path.read_bytes())
            return cls._from(path.parent, data) if isinstance(data, dict) else None
        except (OSError, ValueError):
            return None

    @classmethod
    def _from(cls, folder: Path, data: dict[str, Any]) -> "SessionFacts":
        def text(name: str) -> str | None:
            value = data.get(name)
            return str(value) if value not in (None, "") else None

        resources = data.get("resources")
        gpus = resources.get("gpus") if isinstance(resources, dict) else 0
        return cls(
            folder=folder,
            job_id=text("job_id"),
            node=text("node"),
            profile=text("profile"),
            image_id=text("image_id"),
            image_digest=text("image_digest"),
            image_identity=text("image_identity"),
            binds=tuple(Bind.model_validate(bind) for bind in data.get("binds") or ()),
            home_host=text("home_host"),
            home_inside=text("home_inside"),
            started_at=text("started_at"),
            ends_at=text("ends_at"),
            gpus=gpus if isinstance(gpus, int) else 0,
        )
