"""A cell's source as plain Python, line by line, so that its syntax tree has the lines of the cell.

IPython's own rewriting (IPython.core.inputtransformer2) is followed in what is common, without IPython, which need not
be installed where `siflab` runs. A magic becomes `pass` or None: what it does is not Python's business.
"""

import ast
import re
import warnings
from collections.abc import Iterable, Iterator

_LINE = re.compile(r"^(\s*)(%{1,2}|!{1,2}|\?{1,2}|[,;/](?=[A-Za-z_]))")
_STATEMENT = re.compile(r"^(\s*)%time[ \t]+(?=[^-\s])")
"""What follows is a statement, whose names stay (``%time x = f()``); ``%timeit`` and ``%prun`` keep none."""
_HELP = re.compile(r"^\s*%{0,2}[\w.*]+\?{1,2}\s*$")
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_PYTHON_CELLS = ("time", "timeit", "capture", "prun", "python", "python3", "pypy", "debug")
_SHELL_CELLS = ("bash", "sh", "script", "system", "sx")
_AUTOMAGIC = re.compile(
    r"^\s*(?:pip|conda|mamba|micromamba|uv|cd|ls|ll|cat|mkdir|rmdir|rm|cp|mv|load_ext|reload_ext|matplotlib|env|time|timeit"
    r"|watermark|autoreload|tensorboard)\s+[^\s=(.,\[]",
)
"""Magics that IPython takes without ``%``, in a cell of one line."""
_PROMPT = re.compile(r"^(?:\s{0,12}(?:>>>|\.{3,}:?)|In \[\d{1,6}\]:)(?: |$)", re.ASCII)
_MARKS = re.compile(r"'''|\"\"\"|['\"#(){}\[\]]|\\.")
_COMMAND = re.compile(r"^\s*!{1,2}\s*(\S.*)$")
_LINE_MAGIC = re.compile(r"^\s*%([A-Za-z_]\w*)[ \t]*(.*)$")


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
    for line, begins in _statements(_without_prompts(source).split("\n")):
        if in_command:
            plain = ""
        elif not begins:
            plain = line
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
        in_command = (begins or in_command) and line.rstrip().endswith("\\")
    if len(lines) == 1 and _AUTOMAGIC.match(lines[0]):
        return "pass"
    return "\n".join(lines)


def line_magics(source: str) -> Iterator[tuple[int, str, str]]:
    """(line, name, rest) of each ``%name rest``; none within a text."""
    if cell_magic(source) in (None, *_PYTHON_CELLS):
        for number, line in _beginnings(source):
            if match := _LINE_MAGIC.match(line):
                yield number, match[1], match[2]


def shell_commands(source: str) -> Iterator[tuple[int, str]]:
    """(line, command) of what the cell gives to a shell, by ``!`` or as a whole."""
    magic = cell_magic(source)
    if magic in _SHELL_CELLS:
        yield from enumerate(source.split("\n")[1:], 2)
    elif magic in (None, *_PYTHON_CELLS):
        for number, line in _beginnings(source):
            if match := _COMMAND.match(line):
                yield number, match[1]
            elif _assignment(line) is not None and (command := line.partition("=")[2].lstrip()).startswith("!"):
                yield number, command.lstrip("!").lstrip()


def _beginnings(source: str) -> list[tuple[int, str]]:
    """(number, line) of the lines at which a statement may begin, where there is a sign of a magic at all."""
    if "%" not in source and "!" not in source:
        return []
    return [
        (number, line) for number, (line, begins) in enumerate(_statements(source.split("\n")), 1) if begins and line
    ]


def _statements(lines: Iterable[str]) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it may begin a statement: not within brackets or a text of several lines."""
    depth, quote = 0, ""
    for line in lines:
        begins = not depth and not quote
        yield line, begins
        if begins and _LINE.match(line):
            continue  # not Python's quotes
        one = ""
        for match in _MARKS.finditer(line):
            mark = match[0]
            if quote or one:
                if mark == (quote or one):
                    quote = one = ""
            elif mark == "#":
                break
            elif len(mark) == 3:
                quote = mark
            elif mark in "'\"":
                one = mark
            elif mark in "([{":
                depth += 1
            elif mark in ")]}":
                depth = max(0, depth - 1)


def _without_prompts(source: str) -> str:
    """As IPython takes what was pasted with Python's prompts."""
    if not any(_PROMPT.match(line) for line in source.split("\n", 2)[:2]):
        return source
    return "\n".join(_PROMPT.sub("", line, count=1) for line in source.split("\n"))


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
