"""Whether the notebook that a run was made from is still what it was."""

import hashlib
import os
import stat
from pathlib import Path
from typing import Any

from siflab.notebook.read import SIZE_LIMIT
from siflab.runs.viewer import Viewer


def source_changed(viewer: Viewer, request: dict[str, Any]) -> bool | None:
    """None when it cannot be told: the file is not there, or not visible here. It is read only when its size or time
    differ from those at the snapshot, and then once for each change."""
    host, expected = request.get("source"), request.get("source_sha256")
    path = viewer.seen(str(host)) if host else None
    if path is None or not expected:
        return None
    try:
        facts = Path(path).stat()
    except OSError:
        return None
    if (facts.st_size, facts.st_mtime_ns) == (request.get("source_size"), request.get("source_modified_ns")):
        return False
    key = ("sha256", path, facts.st_size, facts.st_mtime_ns)
    if key not in viewer.memory:
        viewer.memory[key] = _sha256(path, facts)
    found = viewer.memory[key]
    return None if found is None else found != expected


def _sha256(path: str, facts: os.stat_result) -> str | None:
    if not stat.S_ISREG(facts.st_mode) or facts.st_size > SIZE_LIMIT:
        return None
    digest = hashlib.sha256()
    try:
        with Path(path).open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except OSError:
        return None
    return digest.hexdigest()
