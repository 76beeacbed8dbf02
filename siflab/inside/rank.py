"""``runner.pyz rank``: one process of a distributed run, or of a script. It runs the cells, or the script, in this very
process; what it found stands in ``ranks/N.json`` before it ends (see `ranks`), and `node` makes the result of all."""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from .attempt import AttemptFolder, read_json
from .node_child import die_with_parent
from .notebook import BadNotebook
from .outcome import Outcome, bounded, internal, words
from .ranks import write_report


def run_rank(folder: AttemptFolder) -> int:
    """Does not return where the process must not wait for anything: after a failure, or when it was stopped."""
    die_with_parent()
    request = read_json(folder.request) or {}
    rank = int(os.environ.get("RANK") or 0)
    try:
        outcome = _execute(folder, request, rank)
    except (BadNotebook, OSError, ImportError) as error:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        outcome = internal(
            type(error).__name__, str(error), words(f"Nothing was run: {error}.", f"没有运行：{error}。"), text
        )
    report(folder, rank, outcome)
    if outcome.status != "completed":
        leave(0 if outcome.status == "stopped" else 1)
    return 0


def _execute(folder: AttemptFolder, request: dict[str, Any], rank: int) -> Outcome:
    workdir = Path(request.get("workdir") or folder.run)
    os.chdir(workdir)
    if request.get("kind") == "script":
        from .rank_script import run_script

        return run_script(folder, request, rank)
    from .rank_cells import run_cells

    sys.path.insert(0, str(workdir))
    return run_cells(folder, request, rank)


def report(folder: AttemptFolder, rank: int, outcome: Outcome) -> None:
    """What this rank found, for `node` and, as its own words, for torchrun."""
    outcome = bounded(outcome)
    seconds = time.time()
    try:
        write_report(folder, rank, outcome, seconds)
    except OSError as error:
        print(f"siflab: rank {rank}: its report could not be written: {error}", file=sys.__stderr__)
    file, cause = os.environ.get("TORCHELASTIC_ERROR_FILE"), outcome.error
    if file and cause is not None:
        about = {"py_callstack": cause.traceback_text, "timestamp": str(int(seconds))}
        message = {"message": f"{cause.ename}: {cause.evalue}", "extraInfo": about}
        with suppress(OSError):
            Path(file).write_text(json.dumps({"message": message}), "utf-8")


def leave(code: int) -> None:
    """At once: a rank whose peers are gone would wait for them in whatever they registered for the end."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(Exception):
            stream.flush()
    os._exit(code)
