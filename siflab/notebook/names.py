"""Which names a cell needs and makes: what a run from top to bottom would miss, though the kernel still has it.

Decided by syntax trees in the order of the cells. Bodies of functions run later, so a name in one may be made anywhere.
Where a notebook may make names that no tree shows (``from x import *``, ``%run``, ``exec``) nothing more is said.
"""

import ast
import builtins
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from siflab.notebook.findings import Finding
from siflab.notebook.magics import cell_magic, plain_python, without_indent
from siflab.notebook.read import Cell
from siflab.text import Text

_IPYTHON = frozenset("In Out get_ipython display exit quit _ __ ___ _i _ii _iii _ih _oh _dh _exit_code".split())  # noqa: SIM905
_MODULE = frozenset("__name__ __file__ __doc__ __builtins__ __builtin__ __IPYTHON__ __spec__ __loader__".split())  # noqa: SIM905
_KNOWN = frozenset(dir(builtins)) | _IPYTHON | _MODULE
_NUMBERED = re.compile(r"_i?\d+", re.ASCII)
_DEFINING = re.compile(
    r"^[ \t]*%{1,2}(?:run|load|loadpy|store|pylab|macro|recall|rerun|sql|bigquery|R|julia|cython"
    r"|load_ext(?!\s+(?:autoreload|tensorboard|line_profiler|memory_profiler|autotime|watermark|nb_black|lab_black|rich"
    r"|cudf\.pandas|tensorboard\.notebook)\b))\b",
    re.M | re.ASCII,
)
"""Extensions that are known to make no names are left out."""
_CAPTURE = re.compile(r"^[ \t]*%%capture\s+(?:--\S+\s+)*([A-Za-z_]\w*)", re.M | re.ASCII)
_ONLY_TREE = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_CALLS = frozenset({"exec", "globals", "locals", "vars"})


def find_hidden_state(cells: Sequence[Cell], trees: Mapping[int, ast.Module | None]) -> list[Finding]:
    """One finding for each name, at its first use."""
    makers: dict[str, list[int]] = {}
    for cell in cells:
        tree = trees.get(cell.index)
        for name in _made_anywhere(tree) if tree is not None else ():
            makers.setdefault(name, []).append(cell.index)
    have: set[str] = set()
    findings: list[Finding] = []
    told: set[str] = set()
    for cell in cells:
        tree = trees.get(cell.index)
        if tree is None:
            if cell_magic(cell.source) is None or _DEFINING.search(cell.source):
                break  # what it makes cannot be seen
            continue
        have |= set(_CAPTURE.findall(cell.source))
        if _is_open(cell.source, tree):
            break
        walk = _Walk(have)
        walk.block(tree.body)
        for name, line in walk.missing:
            if name not in told and not _NUMBERED.fullmatch(name):
                told.add(name)
                findings.append(_finding(name, cell, line, makers.get(name, [])))
    return findings


def find_syntax_errors(cells: Sequence[Cell], trees: Mapping[int, ast.Module | None]) -> list[Finding]:
    """Cells that are no Python, even without their magics: a run ends there."""
    findings = []
    for cell in cells:
        if trees.get(cell.index) is None and cell.source.strip() and cell_magic(cell.source) is None:
            message = Text(
                "this cell is no Python: a run would end here; mend it, or give it the tag skip-execution",
                "此单元格不是有效的 Python：运行会在此结束；请修改，或加上标签 skip-execution",
            )
            findings.append(Finding("syntax-error", "warning", message, cell.index, _line_of_error(cell.source)))
    return findings


def _line_of_error(source: str) -> int | None:
    try:
        compile(without_indent(plain_python(source) or source), "cell", "exec", _ONLY_TREE)
    except SyntaxError as error:
        return error.lineno
    except (ValueError, RecursionError, MemoryError):
        return None
    return None


def find_order(cells: Sequence[Cell]) -> list[Finding]:
    """Whether the cells were last executed in another order than they stand in."""
    counted = [cell for cell in cells if cell.execution_count is not None]
    for before, after in itertools.pairwise(counted):
        if (after.execution_count or 0) < (before.execution_count or 0):
            message = Text(
                f"this cell was executed before the one above it ([{after.execution_count}] before "
                f"[{before.execution_count}]); a run goes from top to bottom: restart the kernel and run all cells",
                f"此单元格先于其上方的单元格执行（[{after.execution_count}] 早于 [{before.execution_count}]）；"
                "运行按从上到下的顺序：请重启内核并全部运行一次",
            )
            return [Finding("out-of-order", "warning", message, after.index, None)]
    return []


def _finding(name: str, cell: Cell, line: int, makers: list[int]) -> Finding:
    later = next((index for index in makers if index > cell.index), None)
    if later is not None:
        message = Text(
            f"{name} is used here, and made only in cell {later + 1} below; move that cell up",
            f"此处使用了 {name}，但它在下方第 {later + 1} 个单元格才定义；请把该单元格上移",
        )
        return Finding("used-before-made", "warning", message, cell.index, line)
    if cell.index in makers:
        message = Text(f"{name} is used here before this cell makes it", f"{name} 在此单元格定义之前就被使用")
        return Finding("used-before-made", "warning", message, cell.index, line)
    message = Text(
        f"no cell makes {name}: it works here only while the kernel remembers it (its cell was changed or deleted)",
        f"没有单元格定义 {name}：只有内核仍记得它时才能运行（其单元格已被修改或删除）",
    )
    return Finding("name-without-cell", "warning", message, cell.index, line)


def _is_open(source: str, tree: ast.Module) -> bool:
    if _DEFINING.search(source):
        return True
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            return True
        if isinstance(node, ast.Call):
            function = node.func
            if isinstance(function, ast.Name) and function.id in _CALLS:
                return True
            if isinstance(function, ast.Attribute) and function.attr in ("run_line_magic", "run_cell", "push", "ex"):
                return True
    return False


def _made_anywhere(tree: ast.Module) -> Iterator[str]:
    """Names that the cell makes at its top level, in whatever branch, and those that a function declares global."""
    yield from _stored(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names


def _stored(body: Sequence[ast.stmt]) -> Iterator[str]:
    for statement in body:
        for node in _same_scope(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield node.name
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id
            elif isinstance(node, ast.alias):
                yield node.asname or node.name.partition(".")[0]
            elif (isinstance(node, ast.ExceptHandler) and node.name) or (
                isinstance(node, ast.MatchAs | ast.MatchStar) and node.name
            ):
                yield node.name


def _same_scope(node: ast.AST) -> Iterator[ast.AST]:
    """The node and what lies in it, but nothing of another scope (walrus targets in comprehensions are of this one)."""
    if isinstance(node, ast.AugAssign):  # adds to what must be there
        yield from _same_scope(node.value)
        return
    yield node
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
        return
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        for inner in ast.walk(node):
            if isinstance(inner, ast.NamedExpr):
                yield inner.target
        return
    for child in ast.iter_child_nodes(node):
        yield from _same_scope(child)


class _Walk:
    """Statements in order: what they need at once, against what is there. `have` grows."""

    def __init__(self, have: set[str]) -> None:
        self.have, self.missing = have, list[tuple[str, int]]()

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = node.args
            for part in (*node.decorator_list, *arguments.defaults, *(d for d in arguments.kw_defaults if d)):
                self.needs(part)
            self.have.add(node.name)
            self.have |= {name for inner in ast.walk(node) if isinstance(inner, ast.Global) for name in inner.names}
        elif isinstance(node, ast.ClassDef):
            for part in (*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)):
                self.needs(part)
            self.have.add(node.name)
        elif isinstance(node, ast.For | ast.AsyncFor):
            self.needs(node.iter)
            self.have |= set(_stored([ast.Expr(node.target)]))
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.While | ast.If):
            self.needs(node.test)
            self.block(node.body)
            self.block(node.orelse)
        elif isinstance(node, ast.With | ast.AsyncWith):
            for item in node.items:
                self.needs(item.context_expr)
                if item.optional_vars is not None:
                    self.have |= set(_stored([ast.Expr(item.optional_vars)]))
            self.block(node.body)
        elif isinstance(node, ast.Try) or type(node).__name__ == "TryStar":
            self._try(node)  # type: ignore[arg-type]
        elif isinstance(node, ast.Match):
            self.needs(node.subject)
            for case in node.cases:
                self.have |= (
                    set(_stored([case.pattern])) if isinstance(case.pattern, ast.stmt) else _captures(case.pattern)
                )
                self.block(case.body)
        elif isinstance(node, ast.AugAssign):
            self.needs(node.value)
            if isinstance(node.target, ast.Name):
                self._need(node.target.id, node.target.lineno)
            else:
                self.needs(node.target)
        elif isinstance(node, ast.AnnAssign):
            if node.value is not None:
                self.needs(node.value)
                self.have |= set(_stored([node]))
        elif not isinstance(node, ast.Global | ast.Nonlocal | ast.Delete):
            self.needs(node)
            self.have |= set(_stored([node]))

    def _try(self, node: ast.Try) -> None:
        guarded = any(_catches_names(handler) for handler in node.handlers)
        if guarded:
            self.have |= set(_stored(node.body))
        else:
            self.block(node.body)
        for handler in node.handlers:
            if handler.name:
                self.have.add(handler.name)
            self.block(handler.body)
        self.block(node.orelse)
        self.block(node.finalbody)

    def needs(self, node: ast.AST, local: frozenset[str] = frozenset()) -> None:
        """Names that are read when the node is evaluated; a comprehension has its own beside."""
        if isinstance(node, ast.Lambda):
            for part in (*node.args.defaults, *(default for default in node.args.kw_defaults if default)):
                self.needs(part, local)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            inner = local
            for generator in node.generators:
                self.needs(generator.iter, inner)
                inner |= frozenset(_stored([ast.Expr(generator.target)]))
                for test in generator.ifs:
                    self.needs(test, inner)
            for part in [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]:
                self.needs(part, inner)
        elif isinstance(node, ast.NamedExpr):
            self.needs(node.value, local)
            self.have.add(node.target.id)
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Load) and node.id not in local:
                self._need(node.id, node.lineno)
        else:
            for child in ast.iter_child_nodes(node):
                self.needs(child, local)

    def _need(self, name: str, line: int) -> None:
        if name not in self.have and name not in _KNOWN:
            self.missing.append((name, line))
            self.have.add(name)


def _captures(pattern: ast.AST) -> set[str]:
    names = {getattr(node, "name", None) or getattr(node, "rest", None) for node in ast.walk(pattern)}
    return {name for name in names if isinstance(name, str)}


def _catches_names(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    names = {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}
    return bool(names & {"NameError", "Exception", "BaseException", "UnboundLocalError"})
