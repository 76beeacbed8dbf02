"""What works in one kernel and not in the processes of the mode distributed, and the other way round."""

from collections.abc import Sequence

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.magics import line_magics
from siflab.notebook.read import Cell
from siflab.notebook.surroundings import Surroundings
from siflab.text import Text

_OF_THE_KERNEL = frozenset({"autosave", "clear", "connect_info", "less", "man", "more", "qtconsole", "subshell"})
"""Magics of ipykernel (ipykernel.zmqshell.KernelMagics) that IPython alone does not have."""
_HARMLESS = frozenset({"autosave", "clear"})
"""Without them a run is the same."""


def find_nodes(around: Surroundings) -> list[Finding]:
    if around.mode == "distributed" or around.nodes <= 1:
        return []
    message = Text(
        f"the notebook runs on the first of its {around.nodes} nodes only; ask for one node, or for the mode "
        "distributed",
        f"notebook 只在 {around.nodes} 个节点中的第一个上运行；请只申请一个节点，或使用 distributed 模式",
    )
    fix = Fix("set-field", "1", Text("ask for one node", "只申请一个节点"), "nodes")
    return [Finding("first-node-only", "warning", message, fix=fix)]


def find_kernel_magics(cells: Sequence[Cell], around: Surroundings) -> list[Finding]:
    """In the mode distributed the cells run in IPython itself, without a kernel: an unknown magic ends them."""
    if around.mode != "distributed":
        return []
    findings = []
    for cell in cells:
        lines = cell.source.split("\n")
        for number, name, _ in line_magics(cell.source):
            if name in _OF_THE_KERNEL:
                alone = name in _HARMLESS and lines[number - 1].startswith("%")
                fix = Fix("delete-line", "", Text(f"remove %{name}", f"删除 %{name}")) if alone else None
                message = Text(
                    f"%{name} belongs to a notebook's kernel, and the processes of a distributed run have none: the "
                    "cell fails there. Remove the line.",
                    f"%{name} 属于 notebook 内核，而分布式运行的进程没有内核：单元格会失败。请删除此行。",
                )
                findings.append(Finding("magic-not-distributed", "error", message, cell.index, number, fix))
    return findings
