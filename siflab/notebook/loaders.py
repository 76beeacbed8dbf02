"""Workers of data loaders, against the CPUs that are asked for."""

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.program import Program
from siflab.notebook.read import Cell
from siflab.notebook.surroundings import Surroundings
from siflab.text import Text

_KEYWORDS = {"num_workers": ("DataLoader", "DataModule"), "dataloader_num_workers": ("TrainingArguments", "Config")}


def find_loaders(program: Program, around: Surroundings) -> list[Finding]:
    """Where more workers are started than there are CPUs for them; the processes of a node share its CPUs."""
    if around.cpus is None:
        return []
    sharing = max(1, around.gpus or 1) if around.mode == "distributed" else 1
    each = max(1, around.cpus // sharing)
    findings = []
    for cell, called in program.calls:
        for word in called.node.keywords:
            if not called.last.endswith(_KEYWORDS.get(word.arg or "", ("\0",))):
                continue
            workers = program.number(word.value)
            if workers is None or workers <= each:
                continue
            message = Text(
                f"{workers} workers load data on {each} CPUs{' a process' if sharing > 1 else ''}: they wait for one "
                f"another. Ask for more CPUs, or set {word.arg}={each}.",
                f"{workers} 个加载进程共用{'每个进程的' if sharing > 1 else ''} {each} 个 CPU，会互相等待。"
                f"请申请更多 CPU，或设置 {word.arg}={each}。",
            )
            line = word.value.lineno
            fix = _fewer(cell, line, f"{word.arg}={workers}", f"{word.arg}={each}")
            findings.append(Finding("workers-over-cpus", "warning", message, cell.index, line, fix))
    return findings


def _fewer(cell: Cell, line: int, before: str, after: str) -> Fix | None:
    text = cell.source.split("\n")[line - 1]
    start, found, rest = text.partition(before)
    if not found or before in rest or rest[:1].isalnum() or rest[:1] in ("_", "."):
        return None
    return Fix("replace-line", start + after + rest, Text(f"set {after}", f"设为 {after}"))
