"""How a run ended, in words: what happened, why, what to do. English and Chinese side by side."""

from __future__ import annotations

import errno
import signal
from dataclasses import dataclass, replace
from typing import Any

from .result import ANSI, Failure, Words, line_of_error


@dataclass(frozen=True)
class Outcome:
    """`status` is a key of `result.EXIT_CODES`; the rest as in `result.Result`."""

    status: str
    error: Failure | None = None
    signal: int | None = None
    message: Words | None = None


def words(en: str, zh: str) -> Words:
    return {"en": en, "zh": zh}


COMPLETED = Outcome("completed")


def failed(cell: dict[str, Any], index: int, number: int, ename: str, evalue: str) -> Outcome:
    """A cell raised; its error is among its outputs, else it is the one named."""
    error: dict[str, Any] = next((o for o in reversed(cell["outputs"]) if o["output_type"] == "error"), {})
    ename, evalue = error.get("ename") or ename, error.get("evalue") or evalue
    traceback = ANSI.sub("", "\n".join(error.get("traceback", [])))
    line = line_of_error(traceback, cell.get("execution_count"))
    where_en, where_zh = (f", line {line}", f"第 {line} 行") if line else ("", "")
    short = ANSI.sub("", evalue).strip().partition("\n")[0][:300].rstrip(".")
    message = words(f"Cell {number}{where_en}: {ename}: {short}", f"第 {number} 个单元格{where_zh}:{ename}: {short}")
    if ename == "StdinNotImplementedError":
        message = words(
            message["en"] + ". input() and getpass() need a person, and a batch job has none: set the value in a cell.",
            message["zh"] + "。input() 和 getpass() 需要有人输入，而批处理作业中没有人：请在单元格中直接设定该值。",
        )
    return Outcome("failed", Failure(ename, evalue, index, number, line, traceback), None, message)


def exited(index: int, number: int) -> Outcome:
    """A cell called exit(): whether it meant success nobody can know, and later cells did not run."""
    message = words(
        f"Cell {number} called exit() or quit(), which ends the kernel; what follows did not run. Remove the call.",
        f"第 {number} 个单元格调用了 exit() 或 quit(),内核因此退出，其后的单元格没有运行。请删除该调用。",
    )
    return Outcome("failed", Failure("NotebookExit", "exit() ended the kernel", index, number), None, message)


def dead_kernel(index: int | None, number: int | None, exit_code: int | None) -> Outcome:
    """The kernel's process is gone; `exit_code` as subprocess gives it, negative for a signal."""
    killed_by = -exit_code if exit_code is not None and exit_code < 0 else None
    where_en, where_zh = (
        (f"in cell {number}", f"在第 {number} 个单元格中") if number else ("between cells", "在单元格之间")
    )
    if killed_by is None:
        why_en, why_zh = f"ended with exit code {exit_code}", f"以退出码 {exit_code} 结束"
    else:
        why_en, why_zh = f"was killed by {signal_name(killed_by)}", f"被 {signal_name(killed_by)} 终止"
    hint_en, hint_zh = _hint(killed_by)
    message = words(f"The kernel {why_en} {where_en}. {hint_en}", f"内核{where_zh}{why_zh}。{hint_zh}")
    evalue = f"killed {where_en}" if killed_by else f"{why_en} {where_en}"
    return Outcome("dead_kernel", Failure("DeadKernel", evalue, index, number), killed_by, message)


def _hint(killed_by: int | None) -> tuple[str, str]:
    if killed_by == signal.SIGKILL:
        return (
            "Most often the memory that the job asked for did not suffice: ask for more, or use less at a time.",
            "最常见的原因是作业申请的内存不够：请申请更多内存，或减少一次使用的内存。",
        )
    if killed_by in (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT, signal.SIGFPE):
        return (
            "Native code crashed: see the end of the cell's output and logs/kernel.log for where.",
            "本机代码崩溃：崩溃位置见该单元格输出的末尾和 logs/kernel.log。",
        )
    return ("See logs/kernel.log for what it said.", "内核的输出见 logs/kernel.log。")


def stopped(number: int | None, by: int, warned: bool, saved: bool, has_cells: bool = True) -> Outcome:
    """The run was asked to end by signal `by`; `warned`: as its request said that it would before the time limit;
    `saved`: it saved a checkpoint since; a script has no cells."""
    where_en = f" in cell {number}" if number else " between cells" if has_cells else ""
    where_zh = f"在第 {number} 个单元格运行时" if number else "在单元格之间" if has_cells else ""
    if warned:
        why_en, why_zh = "its time limit is near", "作业即将达到时间限制"
        todo_en, todo_zh = "ask for more time, or save checkpoints and resume", "请申请更长时间，或保存检查点后续跑"
    else:
        why_en, why_zh = "it was cancelled or preempted", "作业被取消或被抢占"
        todo_en, todo_zh = "submit it again if that was not you", "如果不是您取消的，请重新提交"
    if saved:
        todo_en, todo_zh = "its checkpoint was saved, from which it can go on", "检查点已保存，可从该处继续"
    message = words(
        f"The run was stopped{where_en} by {signal_name(by)}: {why_en}. What was printed is kept; {todo_en}.",
        f"运行{where_zh}被 {signal_name(by)} 停止：{why_zh}。已打印的内容都已保留；{todo_zh}。",
    )
    return Outcome("stopped", None, by, message)


def timed_out(index: int, number: int, seconds: int) -> Outcome:
    message = words(
        f"Cell {number} ran longer than the {seconds} s that a cell may take; raise cell_timeout, or split the cell.",
        f"第 {number} 个单元格的运行超过了允许的 {seconds} 秒；请增大 cell_timeout,或拆分该单元格。",
    )
    return Outcome("timeout", Failure("CellTimeout", f"longer than {seconds} s", index, number), None, message)


def internal(ename: str, evalue: str, message: Words, traceback_text: str = "") -> Outcome:
    """The runner could not do its work."""
    return Outcome("internal", Failure(ename, evalue, traceback_text=traceback_text), None, message)


def disk_failure(error: OSError, path: str) -> Words:
    """Why a file could not be written."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return words(
            f"The disk is full, or a quota or size limit is reached ({error.strerror}): {path} could not be saved "
            "whole. Free some space and run it again.",
            f"磁盘已满，或达到了配额或文件大小限制({error.strerror}):{path} 没能完整保存。请清理空间后重新运行。",
        )
    return words(
        f"{path} could not be written ({error.strerror or error}). See that its folder exists and is yours.",
        f"无法写入 {path}({error.strerror or error})。请确认其目录存在且属于您。",
    )


def journal_incomplete(error: OSError, lost: int) -> Words:
    """The notebook is whole, but had the run been killed, its recovery would not have been."""
    return words(
        f"{lost} outputs could not be written to outputs.jsonl ({error.strerror or error}); output.ipynb has them.",
        f"有 {lost} 条输出未能写入 outputs.jsonl({error.strerror or error}),但 output.ipynb 中是完整的。",
    )


def unsaved(outcome: Outcome, error: OSError, path: str = "output.ipynb") -> tuple[Outcome, list[Words]]:
    """The output notebook, or a file that belongs to it, lacks its end: a success becomes a failure, a failure keeps
    its reason and gets a warning."""
    message = disk_failure(error, path)
    if outcome.status != "completed":
        return outcome, [message]
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return internal("DiskFull" if full else "CannotWrite", str(error), message), []


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def bounded(outcome: Outcome, limit: int = 20_000) -> Outcome:
    """Its traceback cut to the last `limit` characters: a result is small whatever a notebook raises."""
    error = outcome.error
    if error is None or len(error.traceback_text) + len(error.evalue) <= limit:
        return outcome
    cut = replace(error, traceback_text=error.traceback_text[-limit:], evalue=error.evalue[:limit])
    return replace(outcome, error=cut)
