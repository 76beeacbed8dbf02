"""The samples of an attempt, node by node, from the files that the runner wrote. A torn line, or one that is none of
ours, is passed over."""

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from siflab.inside import AttemptFolder
from siflab.inside.usage_summary import Summary, number
from siflab.runs.folder import read_json

_FILE = re.compile(r"usage(?:-(\d{1,5}))?\.jsonl", re.ASCII)
_BYTES = 64 << 20  # of one file that are read; the runner stops at 20 MB
_NODES = 4096

Line = dict[str, Any]


@dataclass
class NodeSamples:
    """`summary` has the shape of usage.json; `node` are samples of the whole node, in order."""

    number: int
    summary: dict[str, Any] = field(default_factory=dict)
    node: list[Line] = field(default_factory=list)
    ranks: dict[int, list[Line]] = field(default_factory=dict)
    gpus: dict[int, list[Line]] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    last_file: float | None = None
    """When the last of `files` was seen for the first time."""

    @property
    def began(self) -> float | None:
        return number(self.summary.get("began"))

    @property
    def name(self) -> str:
        return str(self.summary.get("node") or self.number)


def read_nodes(attempt: AttemptFolder) -> list[NodeSamples]:
    """Those that have a file, in the order of their numbers."""
    found = []
    try:
        paths = sorted(attempt.folder.iterdir())
    except OSError:
        return []
    for path in paths[: 100 * _NODES]:
        match = _FILE.fullmatch(path.name)
        if match is not None:
            found.append(_read_node(path, int(match[1] or 0)))
    return sorted((node for node in found if node.summary), key=lambda node: node.number)[:_NODES]


def _read_node(path: Path, node_number: int) -> NodeSamples:
    samples, summary = NodeSamples(node_number), Summary()
    for line in _lines(path):
        _sort_in(samples, line)
        summary.add(line)
    kept = read_json(path.with_suffix(".json"))
    if kept is not None and kept.get("version") == 1 and _whole(kept):
        samples.summary = kept
    elif samples.node:
        samples.summary = summary.as_dict()
    return samples


def _whole(summary: dict[str, Any]) -> bool:
    return summary.keys() == Summary().as_dict().keys() and bool(summary.get("samples"))


def _sort_in(samples: NodeSamples, line: Line) -> None:
    gpu, rank = line.get("gpu"), line.get("rank")
    file, size = line.get("file"), number(line.get("size"))
    if isinstance(file, str) and size is not None and len(samples.files) < 10_000:
        name = file if file not in samples.files else f"{file}#{len(samples.files)}"  # the same name in two folders
        samples.files[name] = int(size)
        samples.last_file = number(line.get("t"))
    if number(line.get("t")) is None or number(line.get("d")) is None:
        return
    if isinstance(gpu, int):
        samples.gpus.setdefault(gpu, []).append(line)
    elif isinstance(rank, int):
        samples.ranks.setdefault(rank, []).append(line)
    else:
        samples.node.append(line)


def _lines(path: Path) -> list[Line]:
    lines = []
    try:
        with path.open("rb") as stream:
            data = stream.read(_BYTES)
    except OSError:
        return []
    for text in data.split(b"\n"):
        try:
            line = json.loads(text) if text else None
        except (ValueError, RecursionError):
            continue
        if isinstance(line, dict):
            lines.append(line)
    return lines
