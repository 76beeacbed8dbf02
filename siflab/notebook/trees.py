"""The calls in a cell: how they are named, and whether they are certain to be made."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from siflab.notebook.read import Cell

_LATER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_PERHAPS = (ast.If, ast.IfExp, ast.Try, ast.Match, ast.ExceptHandler)


@dataclass(frozen=True)
class Called:
    """`name` is dotted (``torch.load``; ``.load`` of what has no name). `certain`: not in a function's body, a branch,
    or a `try`."""

    name: str
    node: ast.Call
    certain: bool

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]

    def first_text(self) -> str | None:
        """The first argument, where it is a text."""
        return text_of(self.node.args[0]) if self.node.args else None

    def keyword(self, name: str) -> ast.expr | None:
        return next((word.value for word in self.node.keywords if word.arg == name), None)


@dataclass(frozen=True)
class Code:
    """A cell of Python with its syntax tree."""

    cell: Cell
    tree: ast.Module

    @cached_property
    def calls(self) -> list[Called]:
        """In no particular order."""
        return list(_calls(self.tree, certain=True))

    @cached_property
    def texts(self) -> list[ast.Constant]:
        """All texts, those within f-strings too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]

    @cached_property
    def modules(self) -> set[str]:
        """Top-level names of what is imported anywhere in it; ``.`` for what lies beside."""
        found = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found.add("." if node.level or not node.module else node.module.partition(".")[0])
        return found


def _calls(node: ast.AST, certain: bool) -> Iterator[Called]:
    if isinstance(node, ast.Call):
        yield Called(dotted(node.func), node, certain)
    certain = certain and not isinstance(node, (*_LATER, *_PERHAPS)) and not _suppresses(node)
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, certain)


def perhaps(tree: ast.Module) -> set[int]:
    """Lines in a branch, or after an error, which a run may never come to."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.ExceptHandler):
            found |= set(range(node.body[0].lineno, (node.end_lineno or 0) + 1))
    return found


def _suppresses(node: ast.AST) -> bool:
    return isinstance(node, ast.With | ast.AsyncWith) and any(
        isinstance(item.context_expr, ast.Call) and dotted(item.context_expr.func).endswith("suppress")
        for item in node.items
    )


def dotted(node: ast.expr) -> str:
    """``a.b.c``; what stands before the dots counts for nothing where it is no name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    parts.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(parts))


def text_of(node: ast.expr | None) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def number_of(node: ast.expr | None) -> int | None:
    """A whole number that is written out; no bool."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None
