"""``siflab.record(loss=0.3)`` in a notebook: values that belong to the run, in a file that a program can read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from .attempt import AttemptFolder, now


def record(**values: Any) -> None:
    """Append one line to the attempt's metrics.jsonl; outside of a run nothing is written.

    A value is a number, text, truth value or None, or has an ``item()`` that gives one (a tensor or array of one
    element). Raises TypeError for another, naming it."""
    line: dict[str, Any] = {"at": now()}
    rank = os.environ.get("RANK", "")
    if rank.isdigit():
        line["rank"] = int(rank)
    line["values"] = {name: _plain(name, value) for name, value in values.items()}
    attempt = current_attempt()
    if attempt is not None:
        data = (json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace")
        descriptor = os.open(attempt.metrics, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(descriptor, data)  # one write, so that lines of several processes do not mix
        finally:
            os.close(descriptor)


def current_attempt() -> AttemptFolder | None:
    """The attempt in whose kernel this is called; None in a session or anywhere else."""
    folder, number = os.environ.get("SIFLAB_RUN_FOLDER"), os.environ.get("SIFLAB_ATTEMPT", "")
    point = os.environ.get("SIFLAB_POINT", "")
    if not folder or not number.isdecimal():
        return None
    return AttemptFolder(Path(folder), int(number), int(point) if point.isdecimal() else None)


def _plain(name: str, value: Any) -> Any:
    if not isinstance(value, (bool, int, float, str, type(None))) and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)  # JSON knows no NaN
    if isinstance(value, (bool, int, float, str, type(None))):
        return value
    raise TypeError(f"record({name}=...): a number, text, truth value or None is recorded, not {type(value).__name__}")
