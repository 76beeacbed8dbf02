"""Calls that wait for a person: input(), getpass(), the debugger."""

import ast
from collections.abc import Mapping, Sequence

from siflab.notebook.findings import Finding, Fix, Severity
from siflab.notebook.read import Cell
from siflab.notebook.trees import perhaps
from siflab.text import Text

_ASKING = {"input": "input()", "raw_input": "raw_input()", "getpass": "getpass()", "breakpoint": "breakpoint()"}
_STOPS = ("breakpoint()", "pdb.set_trace()")
_METHODS = {("getpass", "getpass"): "getpass()", ("pdb", "set_trace"): "pdb.set_trace()"}


def find_questions(cells: Sequence[Cell], trees: Mapping[int, ast.Module | None]) -> list[Finding]:
    """One finding for each call that asks a person, no warning where that is only if something is missing; a name that
    the notebook defines itself is its own affair."""
    own = {name for tree in trees.values() if tree is not None for name in _defined(tree)}
    findings = []
    for cell in cells:
        tree = trees.get(cell.index)
        if tree is None:
            continue
        guarded = perhaps(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and (name := _asks(node.func, own)):
                message = Text(
                    f"{name} waits for a person, and a batch job has none: it fails here. Set the value in the cell, "
                    "or read it from a file or a variable of the environment.",
                    f"{name} 需要有人输入，而批处理作业中没有人：运行到此处会失败。"
                    "请在单元格中直接设定，或从文件、环境变量读取。",
                )
                fix = _without(cell, node) if name in _STOPS else None
                severity: Severity = "info" if node.lineno in guarded else "warning"
                findings.append(Finding("asks-a-person", severity, message, cell.index, node.lineno, fix))
    return findings


def _without(cell: Cell, node: ast.Call) -> Fix | None:
    """Of a line that is nothing but the call; others may need its block."""
    line = cell.source.split("\n")[node.lineno - 1]
    if line.strip() != ast.unparse(node):
        return None
    title = Text("remove it", "删除此行")
    indent = line[: len(line) - len(line.lstrip())]
    return Fix("replace-line", f"{indent}pass", title) if indent else Fix("delete-line", "", title)


def _asks(function: ast.expr, own: set[str]) -> str | None:
    if isinstance(function, ast.Name) and function.id not in own:
        return _ASKING.get(function.id)
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id not in own:
        return _METHODS.get((function.value.id, function.attr))
    return None


def _defined(tree: ast.Module) -> set[str]:
    """Names that are assigned or defined; an import of getpass or pdb is none of the notebook's own."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.ImportFrom) and node.module not in ("getpass", "pdb"):
            names |= {alias.asname or alias.name for alias in node.names}
    return names
