"""One attempt from its first file to its result."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from typing import Any

from . import papermill_metadata, stopping, usage
from .attempt import AttemptFolder, now, read_json
from .journal import VERSION, Journal
from .logs import KernelLog, RunLog
from .notebook import BadNotebook, Notebook, blank, close_states, code_numbers, count_ended, read_notebook
from .outcome import Outcome, bounded, disk_failure, internal, journal_incomplete, unsaved, words
from .outputs import Outputs
from .parameters import inject, values_of
from .progress import ProgressWriter
from .result import EXIT_CODES, Result, Words, write_result
from .saving import Reserve, Saver
from .signals import StopRequest
from .spill import Spills, limit_of


class Attempt:
    """What the parts of one attempt share: the notebook in memory and the writers of its files."""

    def __init__(self, folder: AttemptFolder, request: dict[str, Any], notebook: Notebook, stop: StopRequest) -> None:
        """Makes the files; the output notebook is there and valid before anything else happens. Raises OSError."""
        self.folder = folder
        self.request = request
        self.notebook = notebook
        self.workdir = Path(request.get("workdir") or folder.run)
        self.stop = stop
        self.started_at = now()
        self.numbers = code_numbers(notebook)
        self.outputs = Outputs(notebook, folder.folder, limit_of(request))
        self.spills = Spills(folder.folder)
        self.reserve = Reserve(folder.reserve)
        self.saver = Saver(folder.output, notebook, self.outputs.settle, self.reserve, self.outputs.weight)
        self.progress = ProgressWriter(folder, len(self.numbers))
        self.reserve.take()
        self.say("running")
        if not self.saver.save():
            raise self.saver.error or OSError("output.ipynb could not be written")
        self.progress.write()
        self.journal = Journal(folder.journal, 6 * limit_of(request))
        self.journal.mark("begin", version=VERSION, run=request.get("id"), attempt=folder.number)
        self.run_log = RunLog(folder.run_log, len(self.numbers))
        self.kernel_log = KernelLog(folder.kernel_log)

    def say(self, status: str) -> None:
        """Note in the notebook how the run is."""
        about = {"run": self.request.get("id"), "name": self.request.get("name"), "attempt": self.folder.number}
        self.notebook["metadata"]["siflab"] = {**about, "status": status, "image": self.request.get("image")}
        if status != "running":
            papermill_metadata.end(self.notebook, status, now())

    def write_progress(self) -> None:
        try:
            self.progress.write()
        except OSError as error:
            print(f"siflab: progress.json: {error}", file=sys.stderr)

    def settle(self, outcome: Outcome) -> tuple[Outcome, list[Words]]:
        """Bring the notebook to its last state and save it; the outcome, which a full disk may change, and
        warnings."""
        index = close_states(self.notebook, "stopped" if outcome.status == "stopped" else "killed")
        if index is not None:
            self.journal.mark("done", index, status="stopped" if outcome.status == "stopped" else "killed")
        warnings: list[Words] = []
        if self.spills.error is not None:
            outcome, warnings = unsaved(outcome, self.spills.error, "logs/cell-N.txt")
        self.say(outcome.status)
        if not self.saver.save_last() and self.saver.error is not None:
            outcome, more = unsaved(outcome, self.saver.error)
            warnings += more
        elif self.journal.lost and self.journal.error is not None:
            warnings.append(journal_incomplete(self.journal.error, self.journal.lost))
        self.journal.mark("end", status=outcome.status)
        return outcome, warnings

    def sync(self) -> None:
        """Bring what came to the disk, so that it outlives the node. May take long: call it in a thread."""
        self.journal.sync()
        self.spills.sync()

    def close(self) -> None:
        self.journal.close()
        self.spills.close()
        self.run_log.close()
        self.kernel_log.close()


def run_attempt(folder: AttemptFolder, stop: StopRequest) -> int:
    """Execute the run's notebook as this attempt; the exit code."""
    started_at = now()
    try:
        folder.make()
        if folder.journal.exists():
            print(f"siflab: attempt {folder.number} was already made; each start of a run needs a number of its own",
                  file=sys.stderr)  # fmt: skip
            return EXIT_CODES["internal"]
        attempt = begin_attempt(folder, stop)
    except (BadNotebook, OSError) as error:
        return _conclude(folder, _not_begun(folder, error), [], started_at, None)
    print(f"siflab: run {attempt.request.get('id')}, attempt {folder.number}: {len(attempt.numbers)} cells", flush=True)
    try:
        outcome, warnings = _execute(attempt)
    except Exception as error:
        outcome, warnings = attempt.settle(_unexpected(error))
    return _conclude(folder, outcome, warnings, started_at, attempt)


def begin_attempt(folder: AttemptFolder, stop: StopRequest) -> Attempt:
    request = read_json(folder.request)
    if request is None:
        raise BadNotebook("request.json is missing or not JSON: the run folder is not complete")
    stop.expect(request)
    notebook = read_notebook(folder.input)
    values = values_of(folder, request)
    inject(notebook, values)
    blank(notebook)
    source = str(request.get("notebook") or folder.input)
    version = str(request.get("siflab_version") or "")
    papermill_metadata.begin(notebook, version, source, str(folder.output), values, now())
    return Attempt(folder, request, notebook, stop)


def _execute(attempt: Attempt) -> tuple[Outcome, list[Words]]:
    if not attempt.workdir.is_dir():
        where = attempt.workdir
        message = words(
            f"The folder {where}, in which the cells run, is not there in the job; see the site's binds.",
            f"作业中没有笔记本单元格的工作目录 {where};请检查站点的目录绑定。",
        )
        return attempt.settle(internal("WorkdirMissing", str(where), message))
    # a grammar that jsonschema may parse when nbformat imports it, in 0.7 s, for a check that a run never makes
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type]
    try:
        import asyncio

        from nbformat.notebooknode import from_dict

        from .execution import Execution
    except ImportError as error:
        message = words(
            f"The image's Python ({sys.executable}) cannot import {error.name}: a run needs nbclient and ipykernel "
            "in the image. Choose another image, or ask for them to be installed.",
            f"镜像中的 Python({sys.executable})无法导入 {error.name}:运行需要镜像中装有 nbclient 和 ipykernel。"
            "请选择其他镜像，或请管理员安装。",
        )
        return attempt.settle(internal("ImageIncomplete", str(error), message))
    cells = from_dict(attempt.notebook)  # type: ignore[no-untyped-call]
    attempt.notebook.clear()
    attempt.notebook.update(cells)  # nbclient wants attributes, and the very same cells
    sampler = usage.start(attempt.folder, cell=lambda: attempt.progress.progress)
    try:
        return asyncio.run(Execution(attempt).run())
    finally:
        sampler.stop()


def _not_begun(folder: AttemptFolder, error: Exception) -> Outcome:
    if isinstance(error, OSError):
        path = Path(str(error.filename or folder.output)).name
        return internal("CannotWrite", str(error), disk_failure(error, path))
    return internal("BadNotebook", str(error), words(f"Nothing was run: {error}.", f"没有运行：{error}。"))


def _unexpected(error: Exception) -> Outcome:
    traceback.print_exception(type(error), error, error.__traceback__)
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    message = words(
        f"The runner itself failed: {type(error).__name__}: {error}. Please report it with the job's log.",
        f"运行器自身出错：{type(error).__name__}: {error}。请附上作业日志报告此问题。",
    )
    return internal(type(error).__name__, str(error), message, text)


def _conclude(
    folder: AttemptFolder, outcome: Outcome, warnings: list[Words], started_at: str, attempt: Attempt | None
) -> int:
    """Write the result, last of all but the end of the progress; the exit code."""
    outcome = bounded(outcome)
    result = Result(
        status=outcome.status,
        exit_code=EXIT_CODES[outcome.status],
        started_at=started_at,
        ended_at=now(),
        cells_total=len(attempt.numbers) if attempt else 0,
        cells_done=count_ended(attempt.notebook) if attempt else 0,
        error=outcome.error,
        signal=outcome.signal,
        message=outcome.message,
        warnings=warnings,
        saved=stopping.SAVED in stopping.answers(folder) if outcome.status == "stopped" else None,
        resumable=stopping.has_checkpoint(folder),
    )
    exit_code = result.exit_code
    folder.reserve.unlink(missing_ok=True)
    try:
        write_result(folder, result)
        if attempt is not None:
            attempt.progress.change(phase="finished", cells_done=result.cells_done)
            attempt.write_progress()
    except OSError as error:
        print(f"siflab: result.json: {error}", file=sys.stderr)
        exit_code = exit_code or EXIT_CODES["internal"]
    for message in [outcome.message, *warnings]:
        if message:
            print(f"siflab: {message['en']}\nsiflab: {message['zh']}", file=sys.stderr)
    print(f"siflab: {outcome.status}", flush=True)
    if attempt is not None:
        attempt.close()
    stopping.clear(folder)
    return exit_code
