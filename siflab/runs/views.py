"""The site, the session and what is free, as openapi.yaml's `Site`, `Session` and `Inventory`."""

import os
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import siflab
from siflab.config import Profile
from siflab.config.models import Allow, CountRange
from siflab.runs.session_time import session_time
from siflab.runs.viewer import Viewer
from siflab.slurm.inventory import read_inventory
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time
from siflab.text import Text

API_VERSION = "1"


def site_view(viewer: Viewer) -> dict[str, Any]:
    site, session = viewer.site, viewer.in_session
    reason = cannot_submit(viewer)
    return {
        "api_version": API_VERSION,
        "siflab_version": siflab.__version__,
        "name": site.name,
        "title": site.title.as_dict(),
        "user": viewer.user,
        "images": [
            {
                "id": name,
                "title": image.title.as_dict(),
                "digest": image.digest,
                "current": session is not None and session.image_id == name,
            }
            for name, image in site.images.items()
        ],
        "profiles": [_profile(name, profile) for name, profile in site.profiles.items()],
        "binds": [bind.model_dump() for bind in site.singularity.binds],
        "runs_root": viewer.shown(viewer.runs_root_host()),
        "default_profile": site.runs.default_profile or _first_for_runs(site.profiles),
        "can_submit": reason is None,
        "cannot_submit_reason": reason.as_dict() if reason else None,
        "timezone": _timezone(),
    }


def cannot_submit(viewer: Viewer) -> Text | None:
    """Why no run can be submitted from here, or None."""
    if viewer.slurm.locate("sbatch") is not None:
        return None
    if viewer.in_session is not None:
        return Text(
            "Slurm's commands are not within reach of this session (its node may lack Python 3.6); promote from a "
            "login node, or tell your administrator.",
            "本会话无法使用 Slurm 命令（其节点可能缺少 Python 3.6）；请在登录节点上提交，或联系管理员。",
        )
    return Text(
        "There is no sbatch here, neither in slurm.bin of site.yaml nor in PATH; use a login node of the cluster.",
        "此处没有 sbatch（site.yaml 的 slurm.bin 和 PATH 中都没有）；请在集群的登录节点上操作。",
    )


def session_view(viewer: Viewer) -> dict[str, Any]:
    session = viewer.in_session
    if session is None:
        return {"in_slurm": False}
    now = session_time(viewer)
    return {
        "in_slurm": True,
        "job_id": session.job_id,
        "node": session.node,
        "profile": session.profile,
        "image": session.image_id,
        "gpus": session.gpus,
        "cuda_visible_devices": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "started_at": session.started_at,
        "ends_at": now.ends_at,
        "extension": now.extension,
    }


def inventory_view(viewer: Viewer) -> dict[str, Any]:
    """Raises SlurmUnreachable."""
    return read_inventory(viewer.slurm).as_dict()


def _first_for_runs(profiles: dict[str, Profile]) -> str | None:
    return next((name for name, profile in profiles.items() if profile.for_runs), None)


def _profile(name: str, profile: Profile) -> dict[str, Any]:
    return {
        "id": name,
        "title": profile.title.as_dict(),
        "description": profile.description.as_dict(),
        "image": profile.image,
        "partition": profile.partition,
        "gpus": profile.gpus,
        "gpu_type": profile.gpu_type,
        "cpus": profile.cpus,
        "memory": format_memory(profile.memory),
        "time": format_time(profile.time),
        "nodes": profile.nodes,
        "allow": allowed(profile.allow, profile),
        "for_runs": profile.for_runs,
        "for_sessions": profile.for_sessions,
    }


def allowed(allow: Allow, profile: Profile) -> dict[str, Any]:
    """What may be chosen, by field; a field that is fixed is left out."""
    ranges: dict[str, Any] = {}
    if allow.image:
        ranges["image"] = {"choices": list(dict.fromkeys((profile.image, *allow.image)))}
    for field in ("gpus", "cpus", "nodes"):
        count: CountRange | None = getattr(allow, field)
        if count is not None:
            least = max(count.min, 0 if field == "gpus" else 1)
            ranges[field] = {"choices": list(count.choices)} if count.choices else {"min": least, "max": count.max}
    if allow.memory is not None:
        ranges["memory"] = {"max": format_memory(max(allow.memory.max, profile.memory))}
    if allow.time is not None:
        ranges["time"] = {"max": format_time(max(allow.time.max, profile.time))}
    return ranges


def _timezone() -> str:
    """The zone's name, e.g. ``Asia/Shanghai``; its offset where no name is known."""
    if os.environ.get("TZ"):
        return os.environ["TZ"].lstrip(":")
    try:
        target = os.fspath(Path("/etc/localtime").readlink())
    except OSError:
        target = ""
    if "zoneinfo/" in target:
        return target.partition("zoneinfo/")[2]
    return "UTC" if time.localtime().tm_gmtoff == 0 else f"UTC{datetime.now().astimezone():%z}"
