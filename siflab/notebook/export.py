"""A notebook as a Python script: its cells marked with ``# %%`` (which editors know), its magics as plain Python.

What has no meaning outside of IPython (``%matplotlib inline``, ``%load_ext``) becomes a comment. What cannot be said in
Python is refused with its cell and line, so that no script fails for a name that is not defined (nbconvert#503).
"""

import ast
import re
import shlex

from siflab.errors import FieldError, Invalid
from siflab.notebook.magics import cell_magic
from siflab.notebook.read import Cell, Notebook
from siflab.text import Text

_LEFT_OUT = (
    "matplotlib", "load_ext", "reload_ext", "autoreload", "config", "pylab", "precision", "xmode", "colors", "autosave",
    "logstart", "logstop", "who", "whos", "who_ls", "pwd", "ls", "history", "doctest_mode", "pdb", "tensorboard",
    "reset",
)  # fmt: skip
_TIMED = ("time", "timeit", "prun")
_SHELLS = ("bash", "sh", "script", "system", "sx")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_HELP = re.compile(r"\s*%{0,2}[\w.*]+\?{1,2}\s*", re.ASCII)


def to_script(notebook: Notebook) -> str:
    """The script's text. Raises Invalid with a line for all that cannot be said in Python."""
    if notebook.language != "python":
        other = notebook.language or "?"
        words = Text(f"the notebook is in {other}, not in Python", f"此 notebook 使用 {other}，不是 Python")
        raise Invalid([FieldError("path", "not-python", words)])
    writer = _Writer()
    blocks = [writer.cell(cell) for cell in notebook.cells]
    if writer.errors:
        raise Invalid(writer.errors)
    head = [f"import {name}" for name in sorted(writer.imports)]
    if writer.shows:
        head += ["", "", "def display(*shown):", "    print(*shown)", ""]
    return "\n".join([*head, *([""] if head else []), "\n\n".join(blocks)]) + "\n"


class _Writer:
    def __init__(self) -> None:
        self.errors: list[FieldError] = []
        self.imports: set[str] = set()
        self.shows = False

    def cell(self, cell: Cell) -> str:
        if not cell.is_code:
            return "\n".join(["# %% [markdown]", *(f"# {line}".rstrip() for line in cell.source.split("\n"))])
        mark = f"# %% [{cell.number}]" + (f" tags={list(cell.tags)}" if cell.tags else "")
        lines = self._code(cell)
        code = "\n".join(lines)
        self._check(cell, code)
        return "\n".join([mark, *lines])

    def _code(self, cell: Cell) -> list[str]:
        magic = cell_magic(cell.source)
        if magic is None:
            if _is_python(cell.source):
                return cell.source.split("\n")
            return self._lines(cell, cell.source.split("\n"), 1)
        first, _, rest = cell.source.lstrip("\n").partition("\n")
        skipped = cell.source.count("\n") - rest.count("\n")
        if magic in (*_TIMED, "capture"):
            return [f"# {first}", *self._lines(cell, rest.split("\n"), skipped + 1)]
        if magic in _SHELLS:
            self.imports.add("subprocess")
            shell = "bash" if magic in ("bash", "system", "sx", "script") else "sh"
            return [f"subprocess.run([{shell!r}, '-c', {rest!r}], check=True)"]
        if magic in ("writefile", "file"):
            words = first.split()
            if len(words) == 2:
                self.imports.add("pathlib")
                return [f"pathlib.Path({words[1]!r}).write_text({rest!r})"]
        self._refuse(cell, 1, f"%%{magic}")
        return []

    def _lines(self, cell: Cell, lines: list[str], first: int) -> list[str]:
        written: list[str] = []
        number = 0
        while number < len(lines):
            start, line = number, lines[number]
            if _begins_command(line):
                while line.endswith("\\") and number + 1 < len(lines):
                    number += 1
                    line = line[:-1] + " " + lines[number].strip()
            written.append(self._line(cell, line, first + start))
            number += 1
        return written

    def _line(self, cell: Cell, line: str, number: int) -> str:
        indent = line[: len(line) - len(line.lstrip())]
        words = line.strip()
        if words.startswith("!"):
            return indent + self._shell(words.lstrip("!"))
        if words.startswith("%"):
            return self._magic(cell, indent, words.lstrip("%"), number)
        name, is_one, value = words.partition("=")
        command = value.strip()
        if is_one and command[:1] in ("!", "%") and command[1:2] != "=" and _NAME.fullmatch(name.strip()):
            if command.startswith("!"):
                self.imports.add("subprocess")
                run = f"subprocess.run({command[1:].strip()!r}, shell=True, capture_output=True, text=True)"
                return f"{indent}{name.strip()} = {run}.stdout.splitlines()"
            self._refuse(cell, number, command.split()[0])
        return f"{indent}# {words}" if _HELP.fullmatch(line) and line.strip() else line

    def _magic(self, cell: Cell, indent: str, words: str, number: int) -> str:
        name, _, rest = words.partition(" ")
        rest = rest.strip()
        if name in _LEFT_OUT or not name:
            return f"{indent}# %{words}"
        if name in _TIMED and not rest.startswith("-"):
            return f"{indent}{rest}  # %{name}" if rest else f"{indent}pass  # %{name}"
        if name == "cd" and rest:
            self.imports.add("os")
            return f"{indent}os.chdir(os.path.expanduser({rest!r}))"
        if name in ("env", "set_env") and rest:
            key, is_one, value = rest.partition("=")
            if not is_one:
                key, _, value = rest.partition(" ")
            if _NAME.fullmatch(key.strip()) and value.strip():
                self.imports.add("os")
                return f"{indent}os.environ[{key.strip()!r}] = {value.strip()!r}"
        if name == "run" and rest:
            self.imports |= {"runpy"}
            try:
                file, *arguments = shlex.split(rest)
            except ValueError:
                file, arguments = "", []
            if file.endswith(".py") and not arguments:
                return f"{indent}globals().update(runpy.run_path({file!r}))"
        if name in ("pip", "conda", "mamba"):
            return f"{indent}# %{words}"
        self._refuse(cell, number, f"%{name}")
        return ""

    def _shell(self, command: str) -> str:
        self.imports.add("subprocess")
        return f"subprocess.run({command.strip()!r}, shell=True)"

    def _check(self, cell: Cell, code: str) -> None:
        """What is no Python outside of a notebook."""
        try:
            tree = compile(code, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if not any(known.field == _place(cell) for known in self.errors):
                self._refuse(cell, getattr(error, "lineno", 1) or 1, getattr(error, "msg", None) or "syntax")
            return
        assert isinstance(tree, ast.Module)
        for node in tree.body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                waits = [inner for inner in ast.walk(node) if isinstance(inner, ast.Await)]
                if waits and not _inside_function(node, waits[0]):
                    self._refuse(cell, waits[0].lineno, "await")
        for name in (inner for inner in ast.walk(tree) if isinstance(inner, ast.Name)):
            if name.id == "display":
                self.shows = True
            if name.id == "get_ipython":
                self._refuse(cell, name.lineno, "get_ipython()")

    def _refuse(self, cell: Cell, line: int, what: str) -> None:
        self.errors.append(FieldError(_place(cell), "not-in-a-script", Text(
            f"line {line}: {what} works in a notebook only; promote the notebook itself, or change the cell",
            f"第 {line} 行：{what} 只能在 notebook 中使用；请直接提交 notebook，或修改该单元格")))  # fmt: skip


def _is_python(source: str) -> bool:
    try:
        compile(source, "cell", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _begins_command(line: str) -> bool:
    stripped = line.lstrip()
    return stripped[:1] in ("!", "%") or bool(re.match(r"[A-Za-z_]\w*\s*=\s*!", stripped, re.ASCII))


def _inside_function(statement: ast.AST, wanted: ast.AST) -> bool:
    for node in ast.walk(statement):
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef | ast.Lambda) and any(
            inner is wanted for inner in ast.walk(node)
        ):
            return True
    return False


def _place(cell: Cell) -> str:
    return f"cell {cell.index + 1}"
