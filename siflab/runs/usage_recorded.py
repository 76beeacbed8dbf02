"""What the notebook recorded (`siflab.record`), as series by name and rank."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite
from typing import Any

from siflab.inside import AttemptFolder

_BYTES = 64 << 20
"""At the end of metrics.jsonl that are read."""
_SERIES = 1000


@dataclass(frozen=True)
class Recorded:
    """`t`: seconds since the attempt began; `rank`: None in a run of one process. A value is a number, text, truth
    value or None."""

    name: str
    rank: int | None
    t: list[float]
    values: list[Any]
    began: float = 0.0

    def since(self, began: float) -> "Recorded":
        return replace(self, t=[round(moment - began, 3) for moment in self.t], began=began)

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "rank": self.rank, "t": self.t, "values": self.values}


def read_recorded(attempt: AttemptFolder, most: int | None) -> list[Recorded]:
    """Times are since the epoch. Of more than `most` values each so-manieth is taken, and the last."""
    found: dict[tuple[str, int | None], Recorded] = {}
    for line in _lines(attempt):
        values, moment, rank = line.get("values"), _seconds(line.get("at")), line.get("rank")
        if not isinstance(values, dict) or moment is None:
            continue
        rank = rank if isinstance(rank, int) else None
        for name, value in values.items():
            if ((name, rank) not in found and len(found) >= _SERIES) or isinstance(value, (dict, list)):
                continue
            one = found.setdefault((name, rank), Recorded(name, rank, [], [], moment))
            one.t.append(moment)
            one.values.append(str(value) if isinstance(value, float) and not isfinite(value) else value)
    return [_thinned(one, most) for one in found.values()]


def _thinned(one: Recorded, most: int | None) -> Recorded:
    count = len(one.t)
    if most is None or count <= most:
        return one
    each = -(-count // most)
    places = sorted({*range(0, count, each), count - 1})
    return replace(one, t=[one.t[place] for place in places], values=[one.values[place] for place in places])


def _lines(attempt: AttemptFolder) -> list[dict[str, Any]]:
    lines = []
    try:
        with attempt.metrics.open("rb") as stream:
            size = stream.seek(0, 2)
            stream.seek(max(0, size - _BYTES))
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


def _seconds(at: object) -> float | None:
    try:
        return datetime.fromisoformat(at).timestamp() if isinstance(at, str) else None
    except (ValueError, OverflowError, OSError):
        return None
