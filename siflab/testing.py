"""For people's own tests: a notebook executed as a run would execute it, here and now, without Slurm.

In conftest.py ``pytest_plugins = ["siflab.testing"]``, then::

    def test_training(run_notebook):
        done = run_notebook("train.ipynb", parameters={"epochs": 1})
        assert done.values["loss"] < 1.0

It needs what a run needs in its image: nbclient and ipykernel in this Python.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from siflab.inside import AttemptFolder, Failure, build_archive, read_result

_OURS = (
    "SIFLAB_RUN_FOLDER",
    "SIFLAB_RUN_ID",
    "SIFLAB_ATTEMPT",
    "SIFLAB_POINT",
    "CHECKPOINT_DIR",
    "OUTPUT_DIR",
    "LOG_DIR",
)


class NotebookFailed(AssertionError):
    """The notebook did not run to its end; `done` has all that there is of it."""

    def __init__(self, done: "Executed") -> None:
        self.done = done
        error = done.error
        where = f"cell {error.cell_number}, line {error.line}: {error.ename}: {error.evalue}\n" if error else ""
        super().__init__(
            f"the notebook ended as {done.status}: {where}{error.traceback_text if error else done.printed}"
        )


@dataclass(frozen=True)
class Executed:
    """`status` is completed, failed, dead_kernel, timeout, stopped or internal; `values` are the last ones given to
    `siflab.record`, `folder` the run's (removed with the test's temporary folder), `seconds` how long it took."""

    status: str
    exit_code: int
    folder: Path
    notebook: dict[str, Any]
    values: dict[str, Any]
    seconds: float
    printed: str
    error: Failure | None = None

    def text(self, cell: int) -> str:
        """What a cell (index among all cells, from 0; injected parameters are one) printed and showed, as text."""
        parts = []
        for output in self.notebook["cells"][cell].get("outputs", []):
            text = output.get("text") or (output.get("data") or {}).get("text/plain") or ""
            parts.append("".join(text))
        return "".join(parts)


def execute(
    path: Path | str,
    folder: Path,
    parameters: Mapping[str, Any] | None = None,
    *,
    check: bool = True,
    workdir: Path | str | None = None,
    kernel: str | None = None,
    cell_timeout: int | None = None,
    timeout: float | None = None,
) -> Executed:
    """Execute the notebook at `path` in a run folder below `folder`; its cells run in `workdir`, its own folder if
    None. The notebook is not written.

    `cell_timeout` and `timeout` (of the whole; subprocess.TimeoutExpired) are seconds. Raises NotebookFailed unless it
    completed, but not with `check=False`.
    """
    source = Path(path).absolute()
    run = folder / f"run-{len(list(folder.glob('run-*'))) + 1}"
    run.mkdir(parents=True)
    (run / "input.ipynb").write_bytes(source.read_bytes())
    (run / "runner.pyz").write_bytes(build_archive())
    request = {
        "id": "local", "name": source.stem, "mode": "notebook", "kind": "notebook", "notebook": str(source),
        "workdir": str(workdir or source.parent), "kernel": kernel, "parameters": dict(parameters or {}),
        "cell_timeout": cell_timeout,
    }  # fmt: skip
    (run / "request.json").write_text(json.dumps(request))
    attempt = AttemptFolder(run, 1)
    environment = {
        name: value for name, value in os.environ.items() if name not in _OURS and not name.startswith("PYTEST_")
    }
    command = [sys.executable, str(run / "runner.pyz"), "--run", str(run), "--attempt", "1"]
    began = time.monotonic()
    done = subprocess.run(
        command, env=environment, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout,
        check=False,
    )  # fmt: skip
    result = read_result(attempt)
    executed = Executed(
        status=result.status if result else "internal",
        exit_code=done.returncode,
        folder=run,
        notebook=json.loads(attempt.output.read_text("utf-8")) if attempt.output.exists() else {"cells": []},
        values=_recorded(attempt),
        seconds=time.monotonic() - began,
        printed=done.stdout,
        error=result.error if result else None,
    )
    if check and executed.status != "completed":
        raise NotebookFailed(executed)
    return executed


def _recorded(attempt: AttemptFolder) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if attempt.metrics.exists():
        for line in attempt.metrics.read_text("utf-8").splitlines():
            values.update(json.loads(line)["values"])
    return values


@pytest.fixture
def run_notebook(tmp_path: Path) -> Callable[..., Executed]:
    """``run_notebook(path, parameters={...}, check=True, ...)``: see `execute`."""

    def run(path: Path | str, parameters: Mapping[str, Any] | None = None, **more: Any) -> Executed:
        return execute(path, tmp_path / "siflab-runs", parameters, **more)

    return run
