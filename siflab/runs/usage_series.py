"""Samples as series over time, thinned out for a display: of several that become one, means are means over their time,
peaks stay, and counters are the last."""

from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from siflab.inside.usage_summary import MEANS, PEAKS, number
from siflab.runs.usage_samples import Line, NodeSamples

Kind = Literal["node", "rank", "gpu"]
FIELDS: dict[Kind, tuple[str, ...]] = {
    "node": (
        "cpu", "top", "busy", "blocked", "processes", "memory", "peak", "read", "written", "disk_read", "disk_written",
        "open", "cell", "number",
    ),
    "rank": ("cpu", "memory", "peak", "read", "written"),
    "gpu": ("util", "memory", "own", "temp", "power", "heat", "capped", "cell"),
}  # fmt: skip


@dataclass(frozen=True)
class Series:
    """`t`: the end of the time that a value stands for, in seconds since the attempt began. Every list of `values` has
    the length of `t`; None where a value is not known."""

    kind: Kind
    node: int
    gpu: int | None
    rank: int | None
    t: list[float]
    values: dict[str, list[float | None]]

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def series_of(samples: NodeSamples, began: float, most: int | None) -> list[Series]:
    """Of the node, its ranks and its GPUs."""
    found = [_series("node", samples.number, None, None, samples.node, began, most)]
    for rank, lines in sorted(samples.ranks.items()):
        found.append(_series("rank", samples.number, None, rank, lines, began, most))
    for gpu, lines in sorted(samples.gpus.items()):
        ranks = [line["rank"] for line in lines if isinstance(line.get("rank"), int)]
        found.append(_series("gpu", samples.number, gpu, ranks[-1] if ranks else None, lines, began, most))
    return [series for series in found if series.t]


def _series(
    kind: Kind, node: int, gpu: int | None, rank: int | None, lines: list[Line], began: float, most: int | None
) -> Series:
    each = 1 if most is None else max(1, -(-len(lines) // most))
    stream = iter(lines)
    t: list[float] = []
    values: dict[str, list[float | None]] = {name: [] for name in FIELDS[kind]}
    while group := list(islice(stream, each)):
        t.append(round(group[-1]["t"] - began, 1))
        for name, column in values.items():
            column.append(_together(name, group))
    known = {name: column for name, column in values.items() if any(value is not None for value in column)}
    return Series(kind, node, gpu, rank, t, known)


def _together(name: str, group: list[Line]) -> float | None:
    pairs = [(value, line["d"]) for line in group if (value := number(line.get(name))) is not None]
    if not pairs:
        return None
    seconds = sum(weight for _, weight in pairs)
    if name in MEANS and seconds > 0 and len(pairs) > 1:
        return round(float(sum(value * weight for value, weight in pairs) / seconds), 3)
    values = [value for value, _ in pairs]
    return max(values) if name in PEAKS else values[-1]
