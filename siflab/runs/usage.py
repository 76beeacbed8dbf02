"""What an attempt of a run used: its samples (`siflab.inside.usage`), the values that its notebook recorded, a summary,
and advice."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from siflab.errors import NotFound
from siflab.inside import AttemptFolder, attempt_numbers
from siflab.runs.folder import RunFolder, read_json
from siflab.runs.listing import folder_of
from siflab.runs.usage_advice import Advice, advise
from siflab.runs.usage_recorded import Recorded, read_recorded
from siflab.runs.usage_samples import NodeSamples, read_nodes
from siflab.runs.usage_series import Series, series_of
from siflab.runs.viewer import Viewer
from siflab.text import Text

POINTS = 1000
"""Of a series for display, about."""


@dataclass(frozen=True)
class Usage:
    """Times of series are seconds since `began_at`; memory and data are in bytes, CPU in CPUs. `resources` are those of
    the request."""

    run_id: str
    attempt: int | None
    attempts: list[int]
    point: int | None = None
    began_at: datetime | None = None
    resources: dict[str, Any] = field(default_factory=dict)
    nodes: list[NodeSamples] = field(default_factory=list)
    series: list[Series] = field(default_factory=list)
    recorded: list[Recorded] = field(default_factory=list)
    advice: list[Advice] = field(default_factory=list)

    def of_rank(self, rank: int) -> "Usage":
        """Only what belongs to one rank: its own series, its GPU's, and what it recorded."""
        series = [one for one in self.series if one.rank == rank]
        return Usage(**{**vars(self), "series": series, "recorded": [one for one in self.recorded if one.rank == rank]})

    def as_dict(self) -> dict[str, Any]:
        """The `Metrics` of openapi.yaml."""
        return {
            "run": self.run_id,
            "attempt": self.attempt,
            "attempts": self.attempts,
            "point": self.point,
            "began_at": self.began_at.isoformat() if self.began_at else None,
            "nodes": [node.summary for node in self.nodes],
            "series": [one.as_dict() for one in self.series],
            "recorded": [one.as_dict() for one in self.recorded],
            "advice": [one.as_dict() for one in self.advice],
        }

    def as_csv(self) -> str:
        """One value a line: at, kind (node, rank, gpu, recorded), node, rank, gpu, name, value."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(["at", "kind", "node", "rank", "gpu", "name", "value"])
        writer.writerows(self._rows())
        return text.getvalue()

    def _rows(self) -> Iterator[list[Any]]:
        for series in self.series:
            for place, moment in enumerate(series.t):
                for name, values in series.values.items():
                    if values[place] is not None:
                        head = [self._at(moment), series.kind, series.node, series.rank, series.gpu]
                        yield [*head, name, values[place]]
        for one in self.recorded:
            for moment, value in zip(one.t, one.values, strict=True):
                if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
                    value = f"'{value}"  # a spreadsheet would take it for a formula
                yield [self._at(moment), "recorded", None, one.rank, None, one.name, value]

    def _at(self, seconds: float) -> str:
        if self.began_at is None:
            return str(seconds)
        return (self.began_at + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def read_usage(
    folder: RunFolder, attempt: int | None = None, point: int | None = None, most: int | None = POINTS
) -> Usage:
    """Of an attempt, the newest if None; of a sweep's point. `most`: values of a series about, None for all. Before
    the first attempt there is nothing. Raises NotFound for an attempt or a point that there is not, and for a sweep
    without a point."""
    request = read_json(folder.request) or {}
    place = _place(folder, request, point)
    numbers = attempt_numbers(place)
    number = attempt if attempt is not None else numbers[-1] if numbers else None
    if number is None:
        return Usage(folder.id, None, [], point)
    if number not in numbers:
        raise NotFound(
            Text(
                f"the run {folder.id} has no attempt {number}; it has {len(numbers)}",
                f"运行 {folder.id} 没有第 {number} 次尝试；共 {len(numbers)} 次",
            )
        )
    files = AttemptFolder(folder.path, number, point)
    resources = request.get("resources")
    resources = resources if isinstance(resources, dict) else {}
    nodes = read_nodes(files)
    recorded = read_recorded(files, most)
    began = min([node.began for node in nodes if node.began is not None] + [one.began for one in recorded], default=0.0)
    return Usage(
        run_id=folder.id,
        attempt=number,
        attempts=numbers,
        point=point,
        began_at=datetime.fromtimestamp(began).astimezone() if nodes or recorded else None,
        resources=resources,
        nodes=nodes,
        series=[series for node in nodes for series in series_of(node, began, most)],
        recorded=[one.since(began) for one in recorded],
        advice=advise(nodes, resources),
    )


def get_metrics(
    viewer: Viewer, run_id: str, attempt: int | None = None, point: int | None = None, most: int | None = POINTS
) -> Usage:
    """`read_usage` of one of the viewer's runs. Raises NotFound."""
    return read_usage(folder_of(viewer, run_id), attempt, point, most)


def _place(folder: RunFolder, request: dict[str, Any], point: int | None) -> Path:
    if point is None and request.get("mode") == "sweep":
        raise NotFound(
            Text(
                f"{folder.id} is a sweep: name one of its points (--point N)",
                f"{folder.id} 是参数扫描：请指定其中一个点（--point N）",
            )
        )
    place = AttemptFolder(folder.path, 1, point).place
    if point is not None and not place.is_dir() and not _has_point(folder, point):
        raise NotFound(
            Text(f"the run {folder.id} has no point {point}", f"运行 {folder.id} 没有点 {point}"),
        )
    return place


def _has_point(folder: RunFolder, point: int) -> bool:
    points = (read_json(folder.points) or {}).get("points")
    return isinstance(points, list) and any(isinstance(one, dict) and one.get("number") == point for one in points)
