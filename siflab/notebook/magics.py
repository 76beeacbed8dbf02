"""A cell's source as plain Python, line by line, so that its syntax tree has the lines of the cell.

IPython's own rewriting (IPython.core.inputtransformer2) is followed in what is common, without IPython, which need not
be installed where `siflab` runs. A magic becomes `pass` or None: what it does is not Python's business.
"""

import ast
import re
import warnings

_LINE = re.compile(r"^(\s*)(%{1,2}|!{1,2}|\?{1,2}|[,;/](?=[A-Za-z_]))")
_STATEMENT = re.compile(r"^(\s*)%time[ \t]+(?=[^-\s])")
"""What follows is a statement, whose names stay (``%time x = f()``); ``%timeit`` and ``%prun`` keep none."""
_HELP = re.compile(r"^\s*%{0,2}[\w.*]+\?{1,2}\s*$")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_PYTHON_CELLS = ("time", "timeit", "capture", "prun", "python", "python3", "pypy", "debug")


def cell_magic(source: str) -> str | None:
    """The name of the cell magic (``%%bash`` -> ``bash``) that the whole cell is given to; None without one."""
    first = source.lstrip("\n").partition("\n")[0].strip()
    return first[2:].split(maxsplit=1)[0] if first.startswith("%%") and len(first) > 2 else None


def plain_python(source: str) -> str | None:
    """The same lines with magics, shell commands and help requests taken out; None when it is another language."""
    magic = cell_magic(source)
    if magic is not None and magic not in _PYTHON_CELLS:
        return None
    lines, in_command = [], False
    for line in source.split("\n"):
        if in_command:
            plain = ""
        elif match := _STATEMENT.match(line):
            lines.append(match[1] + line[match.end() :])
            continue
        elif match := _LINE.match(line):
            plain = match[1] + "pass"
        elif _HELP.match(line):
            plain = "pass"
        elif (assigned := _assignment(line)) is not None:
            plain = assigned + "None"
        else:
            lines.append(line)
            continue
        lines.append(plain)
        in_command = line.rstrip().endswith("\\")
    return "\n".join(lines)


def _assignment(line: str) -> str | None:
    """``a, b = `` of a line that assigns what a magic or a shell command gives. Not by one pattern: two repeats side by
    side take the square of a line's length, or more."""
    names, is_one, value = line.partition("=")
    command = value.lstrip()
    if not is_one or command[:1] not in ("%", "!") or command[1:2] == "=":
        return None
    if not all(_NAME.fullmatch(name.strip()) for name in names.rstrip().removesuffix(",").split(",")):
        return None
    return line[: len(line) - len(command)]


def without_indent(source: str) -> str:
    """As IPython takes it: the blanks before the first line are taken from all lines that begin with them."""
    first = next((line for line in source.split("\n") if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    return "\n".join(line.removeprefix(indent) for line in source.split("\n")) if indent else source


def syntax_tree(source: str) -> ast.Module | None:
    """The tree of a cell; None when it is no Python, even without its magics. Top-level `await` is Python here."""
    plain = plain_python(source)
    for text in (source, plain, plain and without_indent(plain)):
        if text is None:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = compile(text, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        assert isinstance(tree, ast.Module)
        return tree
    return None
