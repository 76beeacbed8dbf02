"""Processes that cells start: by spawn, which does not find what cells define, and by launchers of their own."""

import ast
import re

from siflab.notebook.findings import Finding, Severity
from siflab.notebook.program import Program
from siflab.notebook.surroundings import Surroundings
from siflab.notebook.trees import Called
from siflab.text import Text

_LAUNCHES = re.compile(
    r"(?:\w+=\S*\s)*(torchrun|accelerate launch|deepspeed|horovodrun|mpirun|mpiexec|srun"
    r"|python3? -m (?:torch\.distributed\.(?:run|launch)|accelerate\.commands\.launch))\s",
    re.ASCII,
)
_OTHER_METHODS = ("spawn", "forkserver")
_STARTS = ("Process", "Pool", "ProcessPoolExecutor", "map", "imap", "imap_unordered", "starmap", "apply", "apply_async",
           "map_async", "submit")  # fmt: skip


def find_spawns(program: Program) -> list[Finding]:
    """A new Python begins without the cells, so a function or class of theirs cannot be found in it."""
    other = any(_chooses_other(called) for _, called in program.calls)
    findings = []
    for cell, called in program.calls:
        spawns = called.name.endswith(("mp.spawn", "multiprocessing.spawn")) or (other and called.last in _STARTS)
        name = _own(called, program) if spawns else None
        if name is not None:
            message = Text(
                f"the process that is started here by spawn does not find {name}, which a cell defines, and fails: put "
                "it into a module (.py) beside the notebook, or use the start method fork",
                f"此处以 spawn 方式启动的进程找不到单元格中定义的 {name}，会失败："
                "请把它放到 notebook 旁的模块（.py）中，或使用 fork 方式",
            )
            findings.append(Finding("spawn-of-cell", "warning", message, cell.index, called.node.lineno))
    return findings


def _chooses_other(called: Called) -> bool:
    return called.last in ("set_start_method", "get_context") and called.first_text() in _OTHER_METHODS


def _own(called: Called, program: Program) -> str | None:
    """What the call is to run, if a cell defines it."""
    given = [*called.node.args[:1], called.keyword("target"), called.keyword("fn"), called.keyword("func")]
    names = [node.id for node in given if isinstance(node, ast.Name)]
    return next((name for name in names if name in program.functions), None)


def find_launchers(program: Program, around: Surroundings) -> list[Finding]:
    """A launcher in a cell: wrong where each process of a distributed run would start its own, and worth a word where
    the run has several GPUs."""
    distributed = around.mode == "distributed"
    if not distributed and (around.gpus or 0) * around.nodes <= 1:
        return []
    found = [
        (cell, line, match[1]) for cell, line, command in program.commands if (match := _LAUNCHES.match(f"{command} "))
    ]
    found += [
        (cell, called.node.lineno, "notebook_launcher")
        for cell, called in program.calls
        if called.last == "notebook_launcher" and called.certain
    ]
    if distributed:
        message = (
            "every process of the run would start {0} once more: call the function itself, and the run starts it on "
            "each GPU of each node",
            "运行的每个进程都会再次启动 {0}：请直接调用该函数，运行会在每个节点的每块 GPU 上启动它",
        )
    else:
        message = (
            "{0} starts processes on this node only, and what they print is not kept apart: the mode distributed runs "
            "the cells on each GPU of each node",
            "{0} 只在本节点启动进程，且输出混在一起：distributed 模式会在每个节点的每块 GPU 上运行单元格",
        )
    severity: Severity = "warning" if distributed else "info"
    return [
        Finding("launcher-in-cell", severity, Text(*(words.format(what) for words in message)), cell.index, line)
        for cell, line, what in found
    ]
