"""What a session's job was submitted with, as JSON: kept in the Hub's database, told to the session at the claim."""

from datetime import datetime
from typing import Any

from siflab.config import Bind, Resources, Site
from siflab.container.binds import PathMap
from siflab.slurm.execute import PosixUser
from siflab.slurm.records import QueueRecord


def session_facts(site: Site, resources: Resources, user: PosixUser) -> dict[str, Any]:
    """Known before the job is submitted. `home_inside` is where the home is in the container: the home itself when no
    bind moves it (Singularity mounts it there)."""
    return {
        "profile": resources.profile,
        "image_id": resources.image_id,
        "image_path": resources.image.path,
        "image_digest": resources.image.digest,
        "python": resources.image.python,
        "binds": [str(bind) for bind in site.singularity.binds],
        "home_host": user.home,
        "home_inside": home_inside(site.singularity.binds, user.home),
        "partition": resources.partition,
        "resources": resources.as_dict(),
    }


def home_inside(binds: tuple[Bind, ...], home: str) -> str:
    return PathMap(binds).to_inside(home) or home


def session_json(
    facts: dict[str, Any], *, user: str, server: str, job_id: str, node: str, hub: str, record: QueueRecord | None
) -> dict[str, Any]:
    """session.json in the session's private folder; times are ISO 8601 with offset, null where Slurm does not say."""
    kept = {name: value for name, value in facts.items() if name not in ("python", "partition", "command", "in_job")}
    return {
        "user": user,
        "server": server,
        "job_id": job_id,
        "node": node,
        **kept,
        "started_at": _iso(record.start if record else None),
        "ends_at": _iso(record.end if record else None),
        "hub": hub,
    }


def _iso(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
