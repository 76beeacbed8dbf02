"""GPUs that are named in cells, against those that are asked for."""

import ast
import re
import sys

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.program import Program
from siflab.notebook.read import Cell
from siflab.notebook.surroundings import Surroundings
from siflab.notebook.trees import Called, dotted, number_of, text_of
from siflab.text import Text

_CUDA = re.compile(r"cuda:(\d{1,3})", re.ASCII)
_VISIBLE = re.compile(r"\d{1,3}(?:,\s?\d{1,3})*", re.ASCII)
_ASKS_WHAT_IS_THERE = re.compile(r"is_available|device_count|is_built|torch\.accelerator|LOCAL_RANK|local_rank")
_ON_GPU = re.compile(
    r"cuda|gpu|device|accelerat|lightning|trainer|deepspeed|nccl|fabric|\bmps\b|torch\.hub|torch\.load|jit\.load|ollama"
    r"|localhost",
    re.I,
)


def find_devices(program: Program, around: Surroundings) -> list[Finding]:
    if around.gpus is None:
        return []
    if around.gpus == 0:
        return _needs_gpu(program)
    findings = _indices(program, around)
    return findings or _uses_none(program)


def _indices(program: Program, around: Surroundings) -> list[Finding]:
    """Hard-coded numbers of GPUs that the job does not have; in the mode distributed, any that all processes share."""
    gpus = around.gpus or 0
    shared = around.mode == "distributed" and gpus > 1 and "LOCAL_RANK" not in program.source
    if "device_count" in program.source:
        return []
    findings = []
    for cell, line, number, what in _numbered(program):
        if number >= gpus:
            message = Text(
                f"{what} is GPU number {number + 1}, and the job has {gpus}, counted from 0: it fails here. Write "
                "cuda, or ask for more GPUs.",
                f"{what} 指第 {number + 1} 块 GPU，而作业只有 {gpus} 块（从 0 编号）：运行到此处会失败。"
                "请写 cuda，或申请更多 GPU。",
            )
            findings.append(Finding("no-such-gpu", "warning", message, cell.index, line, _plain(cell, line, what)))
        elif shared and what.startswith("cuda:"):
            message = Text(
                f"every process would use {what}, the same GPU of its node: take the process's own, "
                'torch.device("cuda", int(os.environ["LOCAL_RANK"]))',
                f"每个进程都会使用 {what}，即节点上的同一块 GPU；请使用进程自己的 GPU："
                'torch.device("cuda", int(os.environ["LOCAL_RANK"]))',
            )
            findings.append(Finding("same-gpu", "warning", message, cell.index, line))
    return findings


def _plain(cell: Cell, line: int, what: str) -> Fix | None:
    """``cuda`` is the first GPU, or the process's current one."""
    text = cell.source.split("\n")[line - 1]
    if not what.startswith("cuda:") or text.count(what) != 1:
        return None
    return Fix("replace-line", text.replace(what, "cuda"), Text("write cuda", "改为 cuda"))


def _numbered(program: Program) -> list[tuple[Cell, int, int, str]]:
    """(cell, line, number of a GPU, how it is written)."""
    found = []
    for code in program.codes:
        defaults = _defaults(code.tree)
        for text in code.texts:
            if id(text) in defaults:
                continue
            if match := _CUDA.fullmatch(str(text.value)):
                found.append((code.cell, text.lineno, int(match[1]), match[0]))
        for node in ast.walk(code.tree):
            if isinstance(node, ast.Assign) and _is_visible_devices(node.targets[0]):
                value = text_of(node.value) or ""
                if _VISIBLE.fullmatch(value):
                    highest = max(int(number) for number in value.split(","))
                    found.append((code.cell, node.lineno, highest, f"CUDA_VISIBLE_DEVICES={value}"))
    for cell, called in program.calls:
        number = number_of(called.node.args[0]) if called.node.args else None
        if number is not None and (called.name.endswith(".cuda") or called.name == "torch.cuda.set_device"):
            found.append((cell, called.node.lineno, number, f"{called.last}({number})"))
    return found


def _defaults(tree: ast.Module) -> set[int]:
    """What functions take where nothing is given; whether that happens cannot be seen."""
    taken = [
        default
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for default in (*node.args.defaults, *node.args.kw_defaults)
        if default is not None
    ]
    return {id(inner) for default in taken for inner in ast.walk(default)}


def _is_visible_devices(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Subscript)
        and dotted(target.value).endswith("environ")
        and text_of(target.slice) == "CUDA_VISIBLE_DEVICES"
    )


def _needs_gpu(program: Program) -> list[Finding]:
    """The first line that cannot do without a GPU, in a notebook that never asks whether there is one."""
    if _ASKS_WHAT_IS_THERE.search(program.source):
        return []
    for cell, called in program.calls:
        if called.certain and _moves_to_gpu(called):
            message = Text(
                "this line needs a GPU, and the run asks for none: ask for one, or take the device from "
                'torch.device("cuda" if torch.cuda.is_available() else "cpu")',
                "此行需要 GPU，而运行没有申请：请申请 GPU，或用 "
                'torch.device("cuda" if torch.cuda.is_available() else "cpu") 选择设备',
            )
            return [Finding("gpu-not-asked", "warning", message, cell.index, called.node.lineno)]
    return []


def _moves_to_gpu(called: Called) -> bool:
    if called.name.endswith(".cuda"):
        return not called.node.args or number_of(called.node.args[0]) is not None
    if called.name.endswith(".to"):
        return (called.first_text() or "").startswith("cuda")
    return any((text_of(called.keyword(name)) or "").startswith("cuda") for name in ("device", "device_map"))


def _uses_none(program: Program) -> list[Finding]:
    """Nothing in the notebook, or in what it imports, would use a GPU. Said of none that only tries something out."""
    if not program.is_all or program.modules <= sys.stdlib_module_names or _ON_GPU.search(program.source):
        return []
    if "torch" in program.modules:
        message = Text(
            "the run asks for a GPU, and the notebook keeps model and data on the CPU: move both to cuda, or ask for "
            "no GPU",
            "运行申请了 GPU，但 notebook 的模型和数据都在 CPU 上：请移动到 cuda，或不申请 GPU",
        )
    else:
        message = Text(
            "the run asks for a GPU, and nothing that the notebook imports uses one: ask for none, and it will start "
            "sooner",
            "运行申请了 GPU，但 notebook 导入的模块都不使用 GPU：不申请 GPU 可更早开始",
        )
    fix = Fix("set-field", "0", Text("ask for no GPU", "不申请 GPU"), "gpus")
    return [Finding("gpu-not-used", "warning", message, fix=fix if "torch" not in program.modules else None)]
