"""A training without a checkpoint, or without a seed."""

import re

from siflab.notebook.findings import Finding
from siflab.notebook.program import Program
from siflab.notebook.read import Cell
from siflab.notebook.surroundings import Surroundings
from siflab.text import Text

LONG = 4 * 3600
"""Seconds. Of a shorter run little is lost."""
_SAVES = re.compile(r"save|checkpoint|ckpt|dump|state_dict|push_to_hub|to_pickle|\.write\(|np\.sav|mlflow|wandb", re.I)
_SEEDS = re.compile(r"seed|random_state|Generator\(|PRNGKey|random\.key|RandomState|deterministic", re.I)


def find_training(program: Program, around: Surroundings) -> list[Finding]:
    """Said only where the training's own loop is in the cells, and nothing is hidden in modules that are not known."""
    loop = _loop(program) if program.is_all else None
    if loop is None:
        return []
    cell, line = loop
    findings = []
    if (around.time_seconds or 0) >= LONG and not _SAVES.search(program.source):
        message = Text(
            "this training may take hours, and nothing of it is saved: at the time limit, or when the node fails, all "
            "is lost. `from siflab import checkpoint` saves it in a line (docs/checkpoints.md).",
            "训练可能持续数小时，但没有保存任何内容：到达时间上限或节点故障时会全部丢失。"
            "`from siflab import checkpoint` 一行即可保存（docs/checkpoints.md）。",
        )
        findings.append(Finding("no-checkpoint", "info", message, cell.index, line))
    if not _SEEDS.search(program.source):
        message = Text(
            "no seed is set, so that each run of this training gives another result; torch.manual_seed(0) in the first "
            "cell makes runs comparable",
            "没有设置随机种子，每次训练结果都会不同；在第一个单元格中加入 torch.manual_seed(0) 可使运行可比",
        )
        findings.append(Finding("no-seed", "info", message, cell.index, line))
    return findings


def _loop(program: Program) -> tuple[Cell, int] | None:
    """The first gradient step of torch, with an optimizer."""
    if "torch" not in program.modules or "optim" not in program.source:
        return None
    for cell, called in program.calls:
        if called.last == "backward" and "." in called.name and "zero_grad" in program.source:
            return cell, called.node.lineno
    return None
