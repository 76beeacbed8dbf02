"""Preflight: what would go wrong if a notebook ran as a batch job. No cell is executed, and nothing is started."""

import re
from collections import Counter
from dataclasses import replace

from siflab.notebook.backends import find_backends
from siflab.notebook.calls import find_questions
from siflab.notebook.devices import find_devices
from siflab.notebook.distributed import find_kernel_magics, find_nodes
from siflab.notebook.downloads import find_downloads
from siflab.notebook.findings import Finding, by_severity
from siflab.notebook.imports import find_imports
from siflab.notebook.installs import find_installs
from siflab.notebook.kernel_choice import find_kernel, has_this_python
from siflab.notebook.loaders import find_loaders
from siflab.notebook.magics import syntax_tree
from siflab.notebook.missing_files import find_missing_files
from siflab.notebook.names import find_hidden_state, find_order, find_syntax_errors
from siflab.notebook.paths import find_paths
from siflab.notebook.processes import find_launchers, find_spawns
from siflab.notebook.program import Program
from siflab.notebook.read import Cell, Notebook
from siflab.notebook.secrets import find_secrets
from siflab.notebook.surroundings import Surroundings
from siflab.notebook.time_limit import find_time
from siflab.notebook.training import find_training
from siflab.notebook.trees import Code
from siflab.text import Text

SKIP_TAG = "skip-execution"
SILENCE = "siflab-ignore"
"""A cell with this tag gets no findings; ``siflab-ignore:CODE`` silences one of them, as does a comment
``# siflab-ignore: CODE`` in the line."""
CODE_LIMIT = 512 * 1024
"""Characters of code that are looked at: a syntax tree takes about a thousand bytes for each of them, at worst."""
LISTED = 100
"""Findings of one code that are listed."""
_COMMENT = re.compile(rf"#\s*{SILENCE}(?::\s*([\w-]+))?")


def preflight(notebook: Notebook, around: Surroundings) -> list[Finding]:
    """The findings, most severe first."""
    findings = [*_whole(notebook), *find_nodes(around), *find_time(around), *find_kernel(notebook, around)]
    cells = [cell for cell in notebook.code_cells if SKIP_TAG not in cell.tags]
    size = sum(len(cell.source) for cell in cells)
    if size > CODE_LIMIT:
        return by_severity([*findings, _too_large(size)])
    is_python = notebook.language == "python"
    trees = {cell.index: syntax_tree(cell.source) if is_python else None for cell in cells}
    findings += find_questions(cells, trees)
    findings += find_paths(cells, trees, around)
    codes = [Code(cell, tree) for cell in cells if (tree := trees[cell.index]) is not None]
    findings += find_installs(cells, codes)
    findings += find_backends(cells, codes)
    findings += find_secrets(notebook, cells)
    if is_python:
        findings += find_missing_files(cells, codes, around.beside)
        program = Program(cells, codes)
        findings += find_devices(program, around)
        findings += find_loaders(program, around)
        findings += find_training(program, around)
        findings += find_downloads(program, around)
        if not notebook.is_script:
            findings += find_spawns(program)
            findings += find_launchers(program, around)
        findings += find_imports(cells, trees, around.has_module if has_this_python(notebook, around) else None)
        findings += find_hidden_state(cells, trees)
        findings += find_syntax_errors(cells, trees)
    if not notebook.is_script:
        findings += find_order(cells)
        findings += find_kernel_magics(cells, around)
    lines: dict[int, list[str]] = {}
    heard = [f for f in findings if f.cell is None or not _silenced(f, notebook.cells[f.cell], lines)]
    return _listed(by_severity(heard))


def _too_large(size: int) -> Finding:
    shown, most = f"{size >> 10} KiB", f"{CODE_LIMIT >> 10} KiB"
    return Finding(
        "too-large-to-check",
        "warning",
        Text(
            f"its code was not looked at: it has {shown}, and at most {most} are. Data that is written into cells "
            "belongs in a file",
            f"未检查代码：共 {shown}，最多检查 {most}。写在单元格中的数据应放到文件中",
        ),
    )


def _listed(findings: list[Finding]) -> list[Finding]:
    """The first of each code, and how many there are besides."""
    count = Counter(finding.code for finding in findings)
    shown: Counter[str] = Counter()
    listed = []
    for finding in findings:
        shown[finding.code] += 1
        if shown[finding.code] < LISTED or count[finding.code] == LISTED:
            listed.append(finding)
        elif shown[finding.code] == LISTED:
            rest = count[finding.code] - LISTED
            message = finding.message + Text(f"(and {rest} more of this kind)", f"（另有 {rest} 处同类问题）")
            listed.append(replace(finding, message=message))
    return listed


def _whole(notebook: Notebook) -> list[Finding]:
    with_code = [cell for cell in notebook.code_cells if cell.source.strip()]
    if not with_code:
        return [
            Finding(
                "no-code",
                "error",
                Text(
                    "the notebook has no code to run; write a code cell, or save what you wrote",
                    "notebook 中没有可运行的代码；请添加代码单元格，或先保存",
                ),
            )
        ]
    findings = []
    if not notebook.is_script and all(cell.execution_count is None for cell in with_code):
        findings.append(
            Finding(
                "never-executed",
                "info",
                Text(
                    "no cell has ever been executed here; try it on a little data first",
                    "尚未执行过任何单元格；建议先用少量数据试运行",
                ),
            )
        )
    return findings


def _silenced(finding: Finding, cell: Cell, split: dict[int, list[str]]) -> bool:
    if SILENCE in cell.tags or f"{SILENCE}:{finding.code}" in cell.tags:
        return True
    if cell.index not in split:
        split[cell.index] = cell.source.split("\n")
    lines = split[cell.index]
    if finding.line is None or finding.line > len(lines):
        return False
    comment = _COMMENT.search(lines[finding.line - 1])
    return comment is not None and comment[1] in (None, finding.code)
