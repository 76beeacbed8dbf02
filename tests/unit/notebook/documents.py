"""Notebooks for tests."""

import json
from pathlib import Path
from typing import Any

from siflab.notebook import Notebook, Surroundings, preflight, read_notebook

PYTHON = {"kernelspec": {"name": "python3", "language": "python"}}


def document(*cells: str | dict[str, Any], metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    """A notebook of format 4; a text is a code cell that was executed."""
    whole = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source": cell} if isinstance(cell, str)
        else {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, **cell}
        for cell in cells
    ]  # fmt: skip
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": PYTHON if metadata is None else metadata, "cells": whole}


def notebook(folder: Path, *cells: str | dict[str, Any], metadata: dict[str, Any] | None = None) -> Notebook:
    path = folder / "notebook.ipynb"
    path.write_text(json.dumps(document(*cells, metadata=metadata), ensure_ascii=False), "utf-8")
    return read_notebook(str(path))


def found(
    folder: Path, *cells: str | dict[str, Any], around: Surroundings | None = None
) -> list[tuple[str, int | None, int | None]]:
    """(code, cell, line) of what preflight finds."""
    findings = preflight(notebook(folder, *cells), around or Surroundings())
    assert all(finding.message.en and finding.message.zh != finding.message.en for finding in findings)
    return [(finding.code, finding.cell, finding.line) for finding in findings]
