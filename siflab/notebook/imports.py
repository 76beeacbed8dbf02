"""Modules that the image does not have."""

import ast
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from siflab.notebook.findings import Finding
from siflab.notebook.read import Cell
from siflab.text import Text

_OF_SIFLAB = ("siflab",)  # each run carries it


def find_imports(
    cells: Sequence[Cell], trees: Mapping[int, ast.Module | None], has_module: Callable[[str], bool] | None
) -> list[Finding]:
    """One finding for each module, at its first import. An import that the notebook is ready to see fail is none."""
    if has_module is None:
        return []
    findings, told = [], set()
    for cell in cells:
        tree = trees.get(cell.index)
        for name, line in _imported(tree.body) if tree is not None else ():
            if name in told or name in sys.stdlib_module_names or name in _OF_SIFLAB:
                continue
            told.add(name)
            if not has_module(name):
                message = Text(
                    f"the image has no module {name}; choose another image, or make an environment that has it "
                    f"(`siflab env create NAME {name}`)",
                    f"镜像中没有模块 {name}；请选择其他镜像，或创建包含它的环境（`siflab env create 名称 {name}`）",
                )
                findings.append(Finding("no-such-module", "warning", message, cell.index, line))
    return findings


def _imported(body: Sequence[ast.AST]) -> Iterator[tuple[str, int]]:
    """(top-level name, line) of the imports that nothing guards."""
    for node in body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name.partition(".")[0], node.lineno
        elif isinstance(node, ast.ImportFrom):
            if not node.level and node.module:
                yield node.module.partition(".")[0], node.lineno
        elif isinstance(node, ast.Try) and any(_expects_it(handler) for handler in node.handlers):
            yield from _imported([*node.orelse, *node.finalbody])
        elif not isinstance(node, ast.If):  # whether a branch is taken cannot be known
            yield from _imported(list(ast.iter_child_nodes(node)))


def _expects_it(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
