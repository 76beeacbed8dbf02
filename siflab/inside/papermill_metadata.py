"""What papermill notes in a notebook, noted in the same keys, so that its tools (scrapbook, viewers, dashboards) read a
run's notebook: https://papermill.readthedocs.io, ``papermill/engines.py`` and ``iorw.py`` of 2.7. Standard library
only.

Unlike papermill's own, a cell that never ran stays "pending", also when the kernel died; a skipped one too."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

KEY = "papermill"
_STATUS = {"running": "running", "done": "completed", "failed": "failed", "stopped": "failed", "killed": "failed"}


def blank_cell(cell: dict[str, Any]) -> None:
    nothing = {"exception": None, "start_time": None, "end_time": None, "duration": None, "status": "pending"}
    cell["metadata"][KEY] = nothing


def mark_cell(cell: dict[str, Any], state: str, at: str) -> None:
    """`state`: one of `notebook.CELL_STATES`; `at`: ISO 8601 with an offset."""
    about = cell["metadata"].get(KEY)
    if about is None or state not in _STATUS:
        return
    about["status"] = _STATUS[state]
    about["exception"] = about["status"] == "failed"
    if state == "running":
        about.update(start_time=_utc(at), end_time=None, duration=None)
    else:
        about["start_time"] = about["start_time"] or _utc(at)
        about["end_time"] = _utc(at)
        about["duration"] = _seconds(about["start_time"], about["end_time"])


def begin(notebook: dict[str, Any], version: str, source: str, output: str, values: dict[str, Any], at: str) -> None:
    """The notebook's own; what an earlier run noted in it is replaced. `values`: the parameters; of the variables of
    the environment none is copied, since some are secrets."""
    notebook["metadata"][KEY] = {
        "default_parameters": {},
        "parameters": values,
        "environment_variables": {},
        "version": f"siflab {version}".strip(),
        "input_path": source,
        "output_path": output,
        "start_time": _utc(at),
        "end_time": None,
        "duration": None,
        "exception": None,
    }


def end(notebook: dict[str, Any], status: str, at: str) -> None:
    """`status`: of the run, `result.EXIT_CODES` or "killed"."""
    about = notebook["metadata"].get(KEY)
    if isinstance(about, dict) and isinstance(about.get("start_time"), str):
        about["end_time"] = _utc(at)
        about["duration"] = _seconds(about["start_time"], about["end_time"])
        about["exception"] = True if status != "completed" else None


def _utc(at: str) -> str:
    try:
        return datetime.fromisoformat(at).astimezone(timezone.utc).isoformat()
    except ValueError:
        return at


def _seconds(start: str, end: str) -> float | None:
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except (TypeError, ValueError):
        return None
