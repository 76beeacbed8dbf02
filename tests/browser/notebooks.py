"""Notebooks in a person's home."""

import json
import os
import pwd
from pathlib import Path


def write_notebook(person: str, name: str, *cells: str | tuple[str, str]) -> Path:
    """A cell is its source, or (source, tag)."""
    account = pwd.getpwnam(person)
    made = [
        {
            "cell_type": "code",
            "id": f"cell-{number}",
            "metadata": {} if isinstance(cell, str) else {"tags": [cell[1]]},
            "source": cell if isinstance(cell, str) else cell[0],
            "outputs": [],
            "execution_count": None,
        }
        for number, cell in enumerate(cells)
    ]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": kernelspec}, "cells": made}
    path = Path(account.pw_dir) / name
    path.write_text(json.dumps(document))
    os.chown(path, account.pw_uid, account.pw_gid)
    return path
