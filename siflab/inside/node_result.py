"""The result of an attempt that ran in processes of its own, from their reports and from what they left."""

from __future__ import annotations

import json
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import stopping
from .attempt import AttemptFolder, now
from .notebook import Notebook, set_state
from .outcome import COMPLETED, Outcome, bounded, signal_name, stopped, words
from .progress import ProgressWriter, read_progress
from .ranks import RankReport, log_of, read_reports, root_cause
from .recovery import recover
from .result import EXIT_CODES, Failure, Result, Words, write_result
from .saving import notebook_bytes, replace_file
from .signals import StopRequest


def conclude(
    folder: AttemptFolder, request: dict[str, Any], world: int, code: int, stop: StopRequest, started_at: str
) -> int:
    """Write the notebook's last state and result.json; the exit code. `code` is of torchrun, or of the script's own
    process (negative for a signal)."""
    reports = read_reports(folder)
    is_notebook = request.get("kind") != "script"
    outcome = judge(folder, reports, world, code, stop, is_notebook)
    if is_notebook and (0 not in reports or reports[0].status == "dead_kernel"):
        with suppress(Exception):  # a journal that was never begun
            recover(folder.run, folder.number, folder.point)
    if is_notebook:
        _tell_notebook(folder, outcome)
    seen = read_progress(folder)
    result = Result(
        status=outcome.status,
        exit_code=EXIT_CODES[outcome.status],
        started_at=started_at,
        ended_at=now(),
        cells_total=seen.cells_total if seen else 0,
        cells_done=seen.cells_done if seen else 0,
        error=bounded(outcome).error,
        signal=outcome.signal,
        message=outcome.message,
        saved=stopping.SAVED in stopping.answers(folder) if outcome.status == "stopped" else None,
        resumable=stopping.has_checkpoint(folder) if outcome.status == "stopped" else None,
    )
    folder.reserve.unlink(missing_ok=True)
    exit_code = result.exit_code
    try:
        write_result(folder, result)
        if seen is not None and seen.phase != "finished":
            writer = ProgressWriter(folder, seen.cells_total)
            writer.progress = replace(seen, phase="finished")
            writer.write()
    except OSError as error:
        print(f"siflab: result.json: {error}", file=sys.stderr)
        exit_code = exit_code or EXIT_CODES["internal"]
    if outcome.message:
        print(f"siflab: {outcome.message['en']}\nsiflab: {outcome.message['zh']}", file=sys.stderr)
    print(f"siflab: {outcome.status}", flush=True)
    stopping.clear(folder)
    return exit_code


def judge(
    folder: AttemptFolder, reports: dict[int, RankReport], world: int, code: int, stop: StopRequest, is_notebook: bool
) -> Outcome:
    """What the ranks' reports, and those that are missing, come to. A script may end by ``os._exit(0)``."""
    cause = root_cause(reports)
    missing = [rank for rank in range(world) if rank not in reports]
    if cause is not None and not (cause.is_secondary and (missing or stop.signal is not None)):
        return _of_rank(cause, world)
    halted = [report for report in reports.values() if report.status == "stopped"]
    if missing and stop.signal is None and (is_notebook or code != 0):
        return killed(missing[0] if world > 1 else None, -code if code < 0 else None, code)
    if halted or (stop.signal is not None and missing):
        saved = stopping.SAVED in stopping.answers(folder)
        number = stop.signal or halted[0].signal or 0
        outcome = stopped(None, number, number == stop.warning, saved, is_notebook)
        first = min(halted, key=lambda report: report.rank, default=None)
        return replace(outcome, message=first.message) if first is not None and first.message else outcome
    return COMPLETED if code == 0 else killed(None, -code if code < 0 else None, code)


def _of_rank(report: RankReport, world: int) -> Outcome:
    error = report.error or Failure("Unknown", "", rank=report.rank)
    if report.message is not None and (world == 1 or report.status != "failed"):
        return Outcome(report.status, error, report.signal, report.message)
    short = error.evalue.strip().partition("\n")[0][:300].rstrip(".")
    where_en = ", ".join(
        [
            *([f"Rank {report.rank}"] if world > 1 else []),
            *([f"cell {error.cell_number}"] if error.cell_number else []),
            *([f"line {error.line}"] if error.line else []),
        ]
    )
    where_zh = "".join(
        [
            *([f"进程 {report.rank} "] if world > 1 else []),
            *([f"第 {error.cell_number} 个单元格"] if error.cell_number else []),
            *([f"第 {error.line} 行"] if error.line else []),
        ]
    )
    head_en = f"{where_en[:1].upper()}{where_en[1:]}: " if where_en else ""
    more_en, more_zh = (".", "。")
    if world > 1:
        log = log_of(AttemptFolder(Path(), 1), report.rank).name
        more_en, more_zh = (
            f". The other processes were ended; its output is in logs/{log}.",
            f"。其他进程已被终止；其输出见 logs/{log}。",
        )
    message = words(
        f"{head_en}{error.ename}: {short}{more_en}",
        f"{where_zh}{'：' if where_zh else ''}{error.ename}: {short}{more_zh}",
    )
    return Outcome(report.status, error, None, message)


def killed(rank: int | None, by: int | None, code: int) -> Outcome:
    """A process ended without a word, by a signal or with an exit code; `rank` if it was one of several."""
    who_en, who_zh = ("The process", "进程") if rank is None else (f"Rank {rank}", f"进程 {rank} ")
    if by == signal.SIGKILL:
        todo_en = "Most often the memory that the job asked for did not suffice: ask for more, or use less at a time."
        todo_zh = "最常见的原因是作业申请的内存不够：请申请更多内存，或减少一次使用的内存。"
    else:
        todo_en, todo_zh = "See its log for what it said last.", "其最后的输出见日志。"
    how_en = f"was killed by {signal_name(by)}" if by else f"ended without a word (exit code {code})"
    how_zh = f"被 {signal_name(by)} 终止" if by else f"没有留下说明就结束了（退出码 {code}）"
    message: Words = words(f"{who_en} {how_en}. {todo_en}", f"{who_zh}{how_zh}。{todo_zh}")
    return Outcome("dead_kernel", Failure("DeadProcess", f"{who_en} {how_en}", rank=rank), by, message)


def not_launched(said: str, code: int) -> Outcome:
    """torchrun ended before it had started a process of this node; `said` is its last line."""
    said = said.rstrip(".") or f"exit code {code}"
    message = words(
        f"torchrun could not start the processes: {said}. See logs/run.log for all that it said.",
        f"torchrun 无法启动进程：{said}。完整输出见 logs/run.log。",
    )
    return Outcome("internal", Failure("LauncherFailed", said), None, message)


def _tell_notebook(folder: AttemptFolder, outcome: Outcome) -> None:
    """What another rank than the first did is said in the cell in which it happened."""
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        notebook = json.loads(folder.output.read_bytes())
        about = notebook["metadata"].setdefault("siflab", {})
        error = outcome.error
        known = about.get("status") == outcome.status and (error is None or not error.rank)
        if known:
            return
        about["status"] = outcome.status
        cell = _cell_of(notebook, error)
        if error is not None and cell is not None and outcome.message is not None:
            lines = [outcome.message["en"], outcome.message["zh"], *error.traceback_text.splitlines()]
            shown = {"output_type": "error", "ename": error.ename, "evalue": error.evalue, "traceback": lines}
            notebook["cells"][cell]["outputs"].append(shown)
            if outcome.status == "failed":
                set_state(notebook, cell, "failed")
        replace_file(folder.output, notebook_bytes(notebook))


def _cell_of(notebook: Notebook, error: Failure | None) -> int | None:
    """Of a process that was killed it is known only in which cell the first rank was then."""
    if error is None or error.cell is not None or error.ename != "DeadProcess":
        return None if error is None else error.cell
    states = [cell["metadata"].get("siflab", {}).get("status") for cell in notebook["cells"]]
    return next((index for index, state in enumerate(states) if state in ("failed", "stopped", "killed")), None)
