"""Values for a notebook's parameters, written into it before it runs: papermill's convention."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .attempt import AttemptFolder, read_json
from .notebook import BadNotebook, Notebook, tags

TAG, INJECTED = "parameters", "injected-parameters"


def values_of(attempt: AttemptFolder, request: Mapping[str, Any]) -> dict[str, Any]:
    """The run's parameters, and over them those of the attempt's point in points.json. Raises BadNotebook."""
    values = dict(request.get("parameters") or {})
    return values if attempt.point is None else {**values, **point_values(attempt.run, attempt.point)}


def point_values(run: Path, point: int) -> dict[str, Any]:
    """What points.json says of a point. Raises BadNotebook."""
    for entry in (read_json(run / "points.json") or {}).get("points") or []:
        if isinstance(entry, dict) and entry.get("number") == point and isinstance(entry.get("parameters"), dict):
            return dict(entry["parameters"])
    raise BadNotebook(f"points.json has no point {point}: the run folder is not complete")


def inject(notebook: Notebook, values: Mapping[str, Any]) -> int | None:
    """Write `values` in a cell of their own, after the cell tagged ``parameters``, else before all others; a cell that
    an earlier injection made is replaced. The index of the new cell; None without values."""
    if not values:
        return None
    cells = notebook["cells"]
    cells[:] = [cell for cell in cells if INJECTED not in tags(cell)]
    at = next((index + 1 for index, cell in enumerate(cells) if cell["cell_type"] == "code" and TAG in tags(cell)), 0)
    source = "\n".join(["# Parameters", *(f"{name} = {literal(value)}" for name, value in values.items())])
    cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {"tags": [INJECTED]},
        "source": source,
        "outputs": [],
        "execution_count": None,
    }
    if notebook.get("nbformat_minor", 0) >= 5:
        cell["id"] = hashlib.sha256(source.encode("utf-8", "replace")).hexdigest()[:12]
    cells.insert(at, cell)
    return at


def arguments_of(parameters: Mapping[str, Any]) -> list[str]:
    """A point's parameters as a script gets them: ``--name=value``, a truth value as ``true`` or ``false``."""
    words = []
    for name, value in parameters.items():
        text = "true" if value is True else "false" if value is False else str(value)
        words.append(f"--{name}={text}")
    return words


def literal(value: Any) -> str:
    """A value of JSON as Python writes it."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    return repr(value)
