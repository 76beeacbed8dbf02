"""How an attempt ended: result.json, written once, after everything else."""

from __future__ import annotations

import os
import platform
import re
import socket
from dataclasses import asdict, dataclass, field
from typing import Any

from .attempt import AttemptFolder, read_json
from .saving import replace_json

EXIT_CODES = {"completed": 0, "failed": 1, "dead_kernel": 3, "timeout": 4, "stopped": 5, "internal": 70}
"""Exit code of the runner by status. All are under 128: Slurm shows a higher one as a signal. 2 is argparse's."""

ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_CELL_LINE = re.compile(r"^[ \t]*Cell In\s?\[(\d+)\], line (\d+)", re.M)  # IPython 8.5 and later
_CELL_HEAD = re.compile(r"^(?:Input In \[(\d+)\], in|<ipython-input-(\d+)-[^>\n]*> in)", re.M)  # before
_OLD_SYNTAX = re.compile(r"^[ \t]*(?:Input In \[(\d+)\]|File \"<ipython-input-(\d+)-[^>\n]*>\"), line (\d+)", re.M)
_ARROW = re.compile(r"^-+> (\d+)", re.M)

Words = dict[str, str]
"""A message to a person: {"en": ..., "zh": ...}."""


@dataclass(frozen=True)
class Failure:
    """An error with its place: `cell` is the index among all cells from 0, `cell_number` among code cells from 1,
    `line` in that cell from 1 (the innermost frame that lies in it), of a script `line` alone; `traceback_text` has no
    colour codes. `rank`: of the process, in a distributed run."""

    ename: str
    evalue: str
    cell: int | None = None
    cell_number: int | None = None
    line: int | None = None
    traceback_text: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class Result:
    """See the package's docstring. `signal`: the one that stopped the run, or that killed the kernel. `saved`: whether
    a stopped run saved a checkpoint, or ended its cell by itself, after it was asked to stop (None: it was not asked).
    `resumable`: there is something in its checkpoint folder."""

    status: str
    exit_code: int
    started_at: str
    ended_at: str
    cells_total: int
    cells_done: int
    error: Failure | None = None
    signal: int | None = None
    message: Words | None = None
    warnings: list[Words] = field(default_factory=list)
    saved: bool | None = None
    resumable: bool | None = None
    python: str = field(default_factory=platform.python_version)
    node: str = field(default_factory=lambda: os.environ.get("SLURMD_NODENAME") or socket.gethostname())
    job_id: str | None = field(default_factory=lambda: os.environ.get("SLURM_JOB_ID"))
    restart_count: int = field(default_factory=lambda: int(os.environ.get("SLURM_RESTART_COUNT") or 0))


def write_result(attempt: AttemptFolder, result: Result) -> None:
    """Raises OSError."""
    replace_json(attempt.result, asdict(result))


def read_result(attempt: AttemptFolder) -> Result | None:
    """None while there is none: the attempt goes on, or it was killed (then `recovery.recover`)."""
    value = read_json(attempt.result)
    if value is None or not {"status", "exit_code", "started_at", "ended_at"} <= value.keys():
        return None
    known: dict[str, Any] = {name: value[name] for name in Result.__dataclass_fields__ if name in value}
    known["error"] = failure_of(known.get("error"))
    known["message"] = words_of(known.get("message"))
    known.update({name: known[name] is True for name in ("saved", "resumable") if known.get(name) is not None})
    known["warnings"] = [words for words in map(words_of, _list(known.get("warnings"))) if words is not None]
    known.setdefault("cells_total", 0)
    known.setdefault("cells_done", 0)
    return Result(**known)


def failure_of(value: object) -> Failure | None:
    """The file lies in the user's own folder, and the notebook can write it: nothing in it is taken for granted."""
    if not isinstance(value, dict):
        return None
    numbers = {name: value.get(name) for name in ("cell", "cell_number", "line", "rank")}
    return Failure(
        ename=str(value.get("ename", "")),
        evalue=str(value.get("evalue", "")),
        traceback_text=str(value.get("traceback_text", "")),
        **{name: number if isinstance(number, int) else None for name, number in numbers.items()},
    )


def words_of(value: object) -> Words | None:
    return {"en": str(value.get("en", "")), "zh": str(value.get("zh", ""))} if isinstance(value, dict) else None


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def line_of_error(traceback_text: str, execution_count: int | None) -> int | None:
    """The line in the cell with that execution count at which an IPython traceback (without colours) arose: of its
    innermost frame in the cell, since that names what failed; None when no frame lies in it."""
    lines = [int(line) for count, line in _CELL_LINE.findall(traceback_text) if int(count) == execution_count]
    if lines:
        return lines[-1]
    for first, second, line in _OLD_SYNTAX.findall(traceback_text):
        if int(first or second) == execution_count:
            return int(line)
    for head in reversed(list(_CELL_HEAD.finditer(traceback_text))):
        if int(head.group(1) or head.group(2)) == execution_count:
            arrow = _ARROW.search(traceback_text, head.end())
            return int(arrow.group(1)) if arrow else None
    return None
