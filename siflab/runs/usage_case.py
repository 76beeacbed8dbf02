"""What rules of advice look at: the samples of all nodes, and figures over parts of them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from siflab.inside.usage_summary import number
from siflab.runs.usage_samples import Line, NodeSamples
from siflab.text import Text

MIB, GIB = 1 << 20, 1 << 30
IN_USE = 5.0
"""Percent from which on a GPU counts as being in use."""


def mean(lines: list[Line], name: str) -> float | None:
    """Over time; None where no sample has it."""
    pairs = [(value, line["d"]) for line in lines if (value := number(line.get(name))) is not None]
    seconds = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / seconds if seconds > 0 else None


def grown(lines: list[Line], name: str) -> float:
    """What a counter came to between the first and the last of these samples."""
    values = [value for line in lines if (value := number(line.get(name))) is not None]
    return max(0.0, max(values) - values[0]) if values else 0.0


def seconds_of(lines: list[Line]) -> float:
    return float(sum(line["d"] for line in lines))


@dataclass
class NodeCase:
    samples: NodeSamples
    asked: dict[str, Any]

    @property
    def cpus(self) -> int:
        return int(self.asked.get("cpus") or 0)

    @property
    def memory(self) -> int:
        """Bytes asked for; 0 where that is not known."""
        return int(self.asked.get("memory") or 0)

    @cached_property
    def utils(self) -> dict[float, float]:
        """Mean of the node's GPUs that were ever in use, by the samples' time."""
        found: dict[float, list[float]] = {}
        for lines in self.samples.gpus.values():
            if not any((number(line.get("util")) or 0) >= IN_USE for line in lines):
                continue
            for line in lines:
                value = number(line.get("util"))
                if value is not None:
                    found.setdefault(line["t"], []).append(value)
        return {t: sum(values) / len(values) for t, values in found.items()}

    @cached_property
    def phase(self) -> list[Line]:
        """Samples of the node from the first to the last in which a GPU was in use, each with its `util`."""
        busy = [t for t, util in self.utils.items() if util >= IN_USE]
        if not busy:
            return []
        first, last = min(busy), max(busy)
        return [
            {**line, "util": self.utils[line["t"]]}
            for line in self.samples.node
            if first <= line["t"] <= last and line["t"] in self.utils
        ]


@dataclass
class Case:
    """`resources` are the request's, a node."""

    nodes: list[NodeCase]
    resources: dict[str, Any]

    @property
    def seconds(self) -> float:
        return max((seconds_of(node.samples.node) for node in self.nodes), default=0.0)

    @property
    def count(self) -> int:
        """Samples of the node that has most."""
        return max((len(node.samples.node) for node in self.nodes), default=0)

    @property
    def phase(self) -> list[Line]:
        return [line for node in self.nodes for line in node.phase]

    @property
    def gpus(self) -> list[tuple[NodeCase, dict[str, Any], list[Line]]]:
        """Each GPU: its node, its summary, its samples."""
        found = []
        for node in self.nodes:
            for facts in node.samples.summary.get("gpus") or []:
                found.append((node, facts, node.samples.gpus.get(facts.get("gpu"), [])))
        return found

    def where(self, node: NodeCase, gpu: object = None) -> Text:
        """`GPU 1 on gpu02`, with the node only where there are several."""
        several = len(self.nodes) > 1
        at = node.samples.name
        if gpu is None:
            return Text(f"node {at}", f"节点 {at} ") if several else Text("the node", "节点")
        return Text(
            f"GPU {gpu}" + (f" on {at}" if several else ""), (f"节点 {at} 的 " if several else "") + f"GPU {gpu}"
        )


def case_of(nodes: list[NodeSamples], resources: dict[str, Any]) -> Case:
    """What was asked for is as the job had it; where it cannot tell, as the request has it."""
    cases = []
    for node in nodes:
        asked = dict(node.summary.get("asked") or {})
        mib = number(resources.get("memory_mib"))
        asked["memory"] = number(asked.get("memory")) or (mib or 0) * MIB
        asked["cpus"] = number(asked.get("cpus")) or number(resources.get("cpus")) or 0
        asked["gpus"] = max(number(asked.get("gpus")) or 0, number(resources.get("gpus")) or 0)
        cases.append(NodeCase(node, asked))
    return Case(cases, resources)


def trend(lines: list[Line], name: str) -> tuple[float, float] | None:
    """(bytes a second, the last value) of a quantity that grows steadily, by the median of slopes (Theil and Sen) over
    all but the first quarter of the time; None for one that does not: nearly every later value must be higher, and the
    growth must not be ending."""
    points = [(line["t"], value) for line in lines if (value := number(line.get(name))) is not None]
    points = points[len(points) // 4 :]
    if len(points) < 24:
        return None
    size = len(points) / 24
    thin = []
    for place in range(24):
        part = points[int(place * size) : int((place + 1) * size)]
        thin.append((sum(t for t, _ in part) / len(part), sum(value for _, value in part) / len(part)))
    pairs = [(a, b) for index, a in enumerate(thin) for b in thin[index + 1 :]]
    higher = sum(b[1] > a[1] for a, b in pairs)
    slope = _slope(pairs)
    late = _slope([(a, b) for index, a in enumerate(thin[16:]) for b in thin[16 + index + 1 :]])
    if slope <= 0 or higher < 0.9 * len(pairs) or late < 0.4 * slope:
        return None
    return slope, points[-1][1]


def _slope(pairs: list[tuple[tuple[float, float], tuple[float, float]]]) -> float:
    slopes = sorted((b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs if b[0] > a[0])
    return slopes[len(slopes) // 2] if slopes else 0.0


def size(count: float) -> str:
    """Bytes for people: ``3.2 GB``, ``480 MB`` (binary, as Slurm's)."""
    if count >= 100 * GIB:
        return f"{count / GIB:.0f} GB"
    return f"{count / GIB:.1f} GB" if count >= GIB else f"{count / MIB:.0f} MB"


def span(seconds: float) -> Text:
    """About so long: ``3 h``, ``25 min``."""
    if seconds >= 2 * 86400:
        return Text(f"{seconds / 86400:.0f} days", f"{seconds / 86400:.0f} 天")
    if seconds >= 2 * 3600:
        return Text(f"{seconds / 3600:.0f} h", f"{seconds / 3600:.0f} 小时")
    return Text(f"{max(1, seconds / 60):.0f} min", f"{max(1, seconds / 60):.0f} 分钟")
