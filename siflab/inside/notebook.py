"""The notebook that a run executes: read it, and say in it what became of each cell.

Standard library only, since whoever recovers a killed run may have no nbformat.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from . import papermill_metadata
from .attempt import now

CELL_STATES = ("not run", "running", "done", "failed", "skipped", "stopped", "killed")
"""`stopped`: the run was asked to end while the cell ran; `killed`: the kernel, or the whole run, was killed in it. A
cell whose error its tag ``raises-exception`` allows is `done`; a code cell without code is `done` when it is
reached."""
SKIP_TAG = "skip-execution"

Notebook = dict[str, Any]


class BadNotebook(Exception):
    """The file is no notebook that can be run; the message says why."""


def read_notebook(path: Path) -> Notebook:
    """A notebook of format 4 with its texts joined and what a run needs in place. Raises BadNotebook, OSError."""
    try:
        notebook = json.loads(path.read_bytes().decode("utf-8-sig"))
    except ValueError as error:
        raise BadNotebook(f"{path.name} is not JSON: {error}") from None
    if not isinstance(notebook, dict) or not isinstance(notebook.get("nbformat"), int):
        raise BadNotebook(f"{path.name} is not a Jupyter notebook: it has no nbformat")
    if notebook["nbformat"] != 4:
        return _upgraded(path, notebook["nbformat"])
    return _checked(notebook, path.name)


def _checked(notebook: Notebook, name: str) -> Notebook:
    if not isinstance(notebook.get("cells"), list):
        raise BadNotebook(f"{name} is not a Jupyter notebook: it has no list of cells")
    for index, cell in enumerate(notebook["cells"]):
        if not isinstance(cell, dict) or cell.get("cell_type") not in ("code", "markdown", "raw"):
            raise BadNotebook(f"{name}: cell {index + 1} is of no known type")
        _complete(cell, index, notebook.get("nbformat_minor", 0))
    if not isinstance(notebook.get("metadata"), dict):
        notebook["metadata"] = {}
    return notebook


def _upgraded(path: Path, version: int) -> Notebook:
    try:
        import nbformat

        upgraded: Any = nbformat  # has no types
        return _checked(json.loads(upgraded.writes(upgraded.read(path, as_version=4), version=4)), path.name)
    except ImportError:
        raise BadNotebook(f"{path.name} is of format {version}; open and save it in JupyterLab") from None
    except Exception as error:
        raise BadNotebook(f"{path.name} of format {version} cannot be converted to format 4: {error}") from error


def _complete(cell: dict[str, Any], index: int, minor: Any) -> None:
    cell["source"] = joined(cell.get("source", ""))
    if not isinstance(cell.get("metadata"), dict):
        cell["metadata"] = {}
    if isinstance(minor, int) and minor >= 5 and not cell.get("id"):
        cell["id"] = hashlib.sha256(f"{index} {cell['source']}".encode("utf-8", "replace")).hexdigest()[:12]
    if cell["cell_type"] == "code":
        cell.setdefault("execution_count", None)
        if not isinstance(cell.get("outputs"), list):
            cell["outputs"] = []


def joined(text: Any) -> str:
    """A text of the format: a string, or a list of its lines."""
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def code_numbers(notebook: Notebook) -> dict[int, int]:
    """index among all cells from 0 -> number among code cells from 1."""
    indexes = [index for index, cell in enumerate(notebook["cells"]) if cell["cell_type"] == "code"]
    return {index: number for number, index in enumerate(indexes, 1)}


def tags(cell: dict[str, Any]) -> list[Any]:
    found = cell["metadata"].get("tags")
    return found if isinstance(found, list) else []


def blank(notebook: Notebook) -> None:
    """As before any run: an output of an earlier one must not be taken for this one's."""
    for index, number in code_numbers(notebook).items():
        cell = notebook["cells"][index]
        cell["outputs"] = []
        cell["execution_count"] = None
        cell["metadata"].pop("execution", None)
        cell["metadata"]["siflab"] = {"status": "not run", "number": number}
    for cell in notebook["cells"]:
        papermill_metadata.blank_cell(cell)
    notebook["metadata"].pop("widgets", None)


def set_state(notebook: Notebook, index: int, status: str, at: str | None = None) -> None:
    """What became of a code cell, one of CELL_STATES, and when."""
    state = notebook["cells"][index]["metadata"]["siflab"]
    state["status"] = status
    at = at or now()
    if status == "running":
        state["started_at"] = at
    elif "started_at" in state:
        state["ended_at"] = at
    papermill_metadata.mark_cell(notebook["cells"][index], status, at)


def state_of(notebook: Notebook, index: int) -> str:
    return str(notebook["cells"][index]["metadata"]["siflab"]["status"])


def count_ended(notebook: Notebook) -> int:
    """Code cells that are done or were skipped."""
    return sum(state_of(notebook, index) in ("done", "skipped") for index in code_numbers(notebook))


def close_states(notebook: Notebook, running_becomes: str, at: str | None = None) -> int | None:
    """At the end: the cell that is still running becomes `running_becomes`; its index, or None."""
    ended_in = None
    for index in code_numbers(notebook):
        if state_of(notebook, index) == "running":
            set_state(notebook, index, running_becomes, at)
            ended_in = index
    return ended_in
