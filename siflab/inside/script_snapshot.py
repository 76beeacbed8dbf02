"""A script's snapshot in the place of its source, which may have been edited while the job was queued."""

from __future__ import annotations

import linecache
from multiprocessing import spawn
from pathlib import Path
from typing import Any


def use_snapshot(source: str, snapshot: Path, content: bytes) -> None:
    """Tracebacks and `inspect` show the snapshot's lines, and processes that multiprocessing starts anew (spawn,
    forkserver) import its functions: from the source as long as it is the same, so that ``__file__`` is."""
    text = content.decode("utf-8", "replace")
    linecache.cache[source] = (len(content), None, text.splitlines(keepends=True), source)
    made = spawn.get_preparation_data

    def get_preparation_data(name: str) -> dict[str, Any]:
        data = made(name)
        if data.get("init_main_from_path") == source and not _is_same(source, content):
            data["init_main_from_path"] = str(snapshot)
        return data

    spawn.get_preparation_data = get_preparation_data


def _is_same(source: str, content: bytes) -> bool:
    try:
        return Path(source).read_bytes() == content
    except OSError:
        return False
