"""Modules that the image does not have."""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from siflab.notebook.findings import Finding
from siflab.notebook.magics import cell_magic
from siflab.notebook.read import Cell
from siflab.notebook.trees import dotted
from siflab.text import Text

_OF_SIFLAB = ("siflab",)  # each run carries it
_PATHS = re.compile(r"\bsys\.path\b|\bPYTHONPATH\b|\baddsitedir\b|^[ \t]*%cd\b|\bos\.chdir\b", re.M | re.ASCII)


def find_imports(
    cells: Sequence[Cell], trees: Mapping[int, ast.Module | None], has_module: Callable[[str], bool] | None
) -> list[Finding]:
    """One finding for each module, at its first import. An import that the notebook is ready to see fail is none."""
    if has_module is None:
        return []
    findings, told = [], set()
    written = {_written(cell) for cell in cells}
    for cell in cells:
        if _PATHS.search(cell.source):
            break  # modules may lie anywhere from here on
        tree = trees.get(cell.index)
        for name, line in _imported(tree.body) if tree is not None else ():
            if name in told or name in sys.stdlib_module_names or name in _OF_SIFLAB:
                continue
            told.add(name)
            if name not in written and not has_module(name):
                message = Text(
                    f"the image has no module {name}; choose another image, or make an environment that has it "
                    f"(`siflab env create NAME {name}`)",
                    f"镜像中没有模块 {name}；请选择其他镜像，或创建包含它的环境（`siflab env create 名称 {name}`）",
                )
                findings.append(Finding("no-such-module", "warning", message, cell.index, line))
    return findings


def _written(cell: Cell) -> str | None:
    """The module that a cell writes, with ``%%writefile name.py`` or ``%%writefile name/__init__.py``."""
    if cell_magic(cell.source) not in ("writefile", "file"):
        return None
    file = cell.source.lstrip("\n").partition("\n")[0].split()[-1]
    return file.removesuffix(".py").removesuffix("/__init__").rpartition("/")[2]


def _imported(body: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """(top-level name, line) of the imports that nothing guards."""
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom):
            if not node.level and node.module:
                yield node.module.partition(".")[0], node.lineno
        elif isinstance(node, ast.With) and any(_suppresses(item.context_expr) for item in node.items):
            continue
        elif isinstance(node, ast.Try) and any(_expects_it(handler) for handler in node.handlers):
            yield from _imported([*node.orelse, *node.finalbody])
        elif not isinstance(node, ast.If):  # whether a branch is taken cannot be known
            yield from _imported(list(ast.iter_child_nodes(node)))


def _suppresses(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).endswith("suppress")


def _expects_it(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
