"""Installing packages in a cell: the image is read-only."""

import re
from collections.abc import Sequence

from siflab.notebook.findings import Finding, Fix, Severity
from siflab.notebook.magics import cell_magic
from siflab.notebook.read import Cell
from siflab.notebook.trees import Code, perhaps
from siflab.text import Text

_TOOL = r"(?:pip3?|conda|mamba|micromamba|uv\s+pip|apt|apt-get)"
_INSTALL = (
    rf"(?:sudo\s+)?(?:\S*python[\d.]*\}}?\s+-m\s+|\{{sys\.executable\}}\s+-m\s+)?({_TOOL})\s+(?:-\S+\s+)*install\b"
)
_LINE = re.compile(rf"^\s*(?:[%!]|!!)\s*{_INSTALL}")
_SHELL = re.compile(rf"^\s*{_INSTALL}")
_SHELLS = ("bash", "sh", "script", "system", "sx")


def find_installs(cells: Sequence[Cell], codes: Sequence[Code]) -> list[Finding]:
    """One finding for each line that installs something; no warning where it is done only if a package is missing."""
    findings = []
    guarded = {code.cell.index: perhaps(code.tree) for code in codes}
    for cell in cells:
        alone = _SHELL.match(cell.source) and "\n" not in cell.source.strip()  # IPython takes a magic without %
        pattern = _SHELL if alone or cell_magic(cell.source) in _SHELLS else _LINE
        for number, line in enumerate(cell.source.split("\n"), 1):
            if match := pattern.match(line):
                fix = _commented(line) if pattern is _LINE and line == line.strip() else None
                severity: Severity = "info" if number in guarded.get(cell.index, ()) else "warning"
                findings.append(Finding("installs-packages", severity, _message(match[1]), cell.index, number, fix))
    return findings


def _commented(line: str) -> Fix | None:
    """Of one line that is all of its statement."""
    if line.endswith("\\"):
        return None
    return Fix("replace-line", f"# {line}", Text("make it a comment", "改为注释"))


def _message(tool: str) -> Text:
    if tool.split()[0] in ("pip", "pip3", "uv"):
        return Text(
            f"the image is read-only: `{tool} install` fails, or installs into your home for all your runs and "
            "sessions. Make an environment of your own once (in a terminal: `siflab env create NAME PACKAGE ...`, or "
            "in JupyterLab's Kernel menu), choose its kernel, and remove this line.",
            f"镜像只读：`{tool} install` 会失败，或装到您的主目录并影响所有运行和会话。"
            "请先创建自己的环境（终端：`siflab env create 名称 软件包 ...`，或 JupyterLab 的内核菜单），"
            "选择其内核，然后删除此行。",
        )
    return Text(
        f"the image is read-only: `{tool} install` fails in the job. Ask for an image that has the package.",
        f"镜像只读：`{tool} install` 在作业中会失败。请申请包含该软件包的镜像。",
    )
