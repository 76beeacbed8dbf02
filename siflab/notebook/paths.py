"""Paths written in cells that the job will not see: node-local folders, and folders that no bind carries."""

import ast
from collections.abc import Mapping, Sequence

from siflab.notebook.findings import Finding
from siflab.notebook.read import Cell
from siflab.notebook.surroundings import Surroundings
from siflab.text import Text

_NODE_LOCAL = ("/tmp/", "/var/tmp/", "/dev/shm/", "/run/")  # noqa: S108
_SYSTEM = ("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/opt", "/proc", "/run", "/sbin", "/sys", "/usr", "/var")


def find_paths(cells: Sequence[Cell], trees: Mapping[int, ast.Module | None], around: Surroundings) -> list[Finding]:
    """One finding for each path in a string that is there for whoever looks now, but not in the job. A string that
    names nothing that exists is no path for all we know: a result that is yet to be written, a route, a pattern."""
    findings, seen = [], set()
    for cell in cells:
        tree = trees.get(cell.index)
        for node in ast.walk(tree) if tree is not None else ():
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
                continue
            path = node.value
            if (path, cell.index) in seen or not _may_be_path(path):
                continue
            seen.add((path, cell.index))
            if finding := _judge(path, around, cell.index, node.lineno):
                findings.append(finding)
    return findings


def _may_be_path(text: str) -> bool:
    return text.startswith("/") and text.count("/") >= 2 and len(text) < 1024 and text.isprintable()


def _judge(path: str, around: Surroundings, cell: int, line: int) -> Finding | None:
    inside = around.in_job(path)
    if inside == path or not around.exists(path):
        return None
    if inside is not None:
        message = Text(
            f"{path} is called {inside} in the job's container; write that, or a path relative to the notebook",
            f"{path} 在作业容器中的路径是 {inside}；请改用该路径，或相对于 notebook 的路径",
        )
        return Finding("path-elsewhere", "warning", message, cell, line)
    if path.startswith(_NODE_LOCAL):
        message = Text(
            f"{path} is on this node's own disk: the job, on another node, does not have it. Put it into your home or "
            "another shared folder, unless the notebook writes it itself.",
            f"{path} 在本节点的本地磁盘上：作业在其他节点上运行，看不到它。"
            "请放到主目录或其他共享目录，除非由 notebook 自己生成。",
        )
        return Finding("path-node-local", "warning", message, cell, line)
    if path.startswith(tuple(f"{folder}/" for folder in _SYSTEM)):
        return None
    message = Text(
        f"{path} is not bound into the job's container; move it to a folder that is, or ask your administrator",
        f"{path} 未挂载到作业容器中；请移到已挂载的目录，或联系管理员",
    )
    return Finding("path-not-bound", "warning", message, cell, line)
