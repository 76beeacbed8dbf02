"""Plots and widgets that need a browser."""

import re
from collections.abc import Sequence

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.read import Cell
from siflab.text import Text

_MAGIC = re.compile(r"^(\s*)%matplotlib\s+(widget|ipympl|notebook|nbagg|qt\d?|tk|gtk\d?|wx|osx|gui)\b", re.ASCII)


def find_backends(cells: Sequence[Cell]) -> list[Finding]:
    """A line that chooses a backend of matplotlib which shows nothing without a browser or a screen."""
    findings = []
    for cell in cells:
        for number, line in enumerate(cell.source.split("\n"), 1):
            if match := _MAGIC.match(line):
                message = Text(
                    f"`%matplotlib {match[2]}` draws in a browser or on a screen, and a batch job has none: the "
                    "figures are lost. `%matplotlib inline` keeps them as pictures.",
                    f"`%matplotlib {match[2]}` 需要浏览器或屏幕，而批处理作业没有：图形会丢失。"
                    "`%matplotlib inline` 会把图形保存为图片。",
                )
                fix = Fix("replace-line", f"{match[1]}%matplotlib inline", Text("draw pictures", "改为保存图片"))
                findings.append(Finding("needs-a-browser", "warning", message, cell.index, number, fix))
    return findings
