"""Plots and widgets that need a browser."""

import re
from collections.abc import Sequence

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.magics import line_magics
from siflab.notebook.read import Cell
from siflab.notebook.trees import Code
from siflab.text import Text

_NEEDS_ONE = re.compile(r"(widget|ipympl|notebook|nbagg|qt\d?|tk|gtk\d?|wx|osx|gui)\b", re.ASCII)
_CLASSES = re.compile(r"(?:(?:qt\d?|gtk\d?|tk|wx)(?:agg|cairo)|nbagg|webagg|macosx|widget|module://ipympl.*)", re.I)


def find_backends(cells: Sequence[Cell], codes: Sequence[Code]) -> list[Finding]:
    """A line that chooses a backend of matplotlib which shows nothing without a browser or a screen."""
    findings = []
    for cell in cells:
        for number, name, rest in line_magics(cell.source):
            if name == "matplotlib" and (match := _NEEDS_ONE.match(rest)):
                line = cell.source.split("\n")[number - 1]
                indent = line[: len(line) - len(line.lstrip())]
                fix = Fix("replace-line", f"{indent}%matplotlib inline", Text("draw pictures", "改为保存图片"))
                findings.append(_finding(f"%matplotlib {match[1]}", cell, number, fix))
    for code in codes:
        for called in code.calls:
            backend = called.first_text() or ""
            if called.name in ("matplotlib.use", "mpl.use", "plt.switch_backend") and _CLASSES.fullmatch(backend):
                findings.append(_finding(f'{called.name}("{backend}")', code.cell, called.node.lineno, None))
    return findings


def _finding(what: str, cell: Cell, line: int, fix: Fix | None) -> Finding:
    message = Text(
        f"`{what}` draws in a browser or on a screen, and a batch job has none: the figures are lost. "
        "`%matplotlib inline` keeps them as pictures.",
        f"`{what}` 需要浏览器或屏幕，而批处理作业没有：图形会丢失。`%matplotlib inline` 会把图形保存为图片。",
    )
    return Finding("needs-a-browser", "warning", message, cell.index, line, fix)
