"""What a run uses, followed: first all there is, then what came since, from any position again."""

import re
from dataclasses import dataclass, replace
from typing import Any

from siflab.errors import FieldError, Invalid
from siflab.inside import AttemptFolder, attempt_numbers
from siflab.runs.folder import RunFolder
from siflab.runs.listing import folder_of, has_ended
from siflab.runs.usage import POINTS, Usage, read_usage
from siflab.runs.viewer import Viewer
from siflab.text import Text

OVERLAP = 60.0
"""Seconds before a position that are given again: a node's samples may come late, over a network file system."""
_POSITION = re.compile(r"(\d{1,6}):(\d{1,9}(?:\.\d{1,3})?)", re.ASCII)


@dataclass(frozen=True)
class UsagePiece:
    """`whole`: it stands for all that was given before; else its values are new, or the same as before at the same
    time of the same series. `position` is where to go on. `complete`: nothing follows."""

    usage: Usage
    position: str | None
    whole: bool
    complete: bool

    def as_dict(self) -> dict[str, Any]:
        """The `MetricsPiece` of openapi.yaml."""
        follows = {"position": self.position, "whole": self.whole, "complete": self.complete}
        return {"values": self.usage.as_dict(), **follows}


def follow_metrics(
    viewer: Viewer, run_id: str, attempt: int | None = None, point: int | None = None, position: str | None = None
) -> UsagePiece:
    """What came since `position`, of the attempt (None: the newest, also when there is a newer one by then). All of it
    without a position, when it is of another attempt, and after so long that a thinned series is shorter. Raises
    NotFound, and Invalid for what is no position."""
    known = _read(position) if position else None
    folder = folder_of(viewer, run_id)
    newest = max(_numbers(folder, point), default=None)
    over = attempt is not None and attempt != newest
    ended = over or has_ended(viewer, folder)  # asked before it is read: what comes in between is in the next piece
    if known is not None and known[0] == (attempt or newest):
        found = read_usage(folder, attempt or newest, point, most=None)
        news = _since(found, known[1] - OVERLAP)
        if all(len(t) <= POINTS for t in _times(news)):
            return UsagePiece(news, _position(found), False, ended)
    found = read_usage(folder, attempt or newest, point)
    return UsagePiece(found, _position(found), True, ended)


def _numbers(folder: RunFolder, point: int | None) -> list[int]:
    return folder.attempt_numbers() if point is None else attempt_numbers(AttemptFolder(folder.path, 1, point).place)


def _since(usage: Usage, seconds: float) -> Usage:
    series, recorded = [], []
    for one in usage.series:
        first = next((place for place, t in enumerate(one.t) if t > seconds), len(one.t))
        values = {name: column[first:] for name, column in one.values.items()}
        series.append(replace(one, t=one.t[first:], values=values))
    for value in usage.recorded:
        places = [place for place, t in enumerate(value.t) if t > seconds]
        recorded.append(replace(value, t=[value.t[p] for p in places], values=[value.values[p] for p in places]))
    return replace(usage, series=[one for one in series if one.t], recorded=[one for one in recorded if one.t])


def _position(usage: Usage) -> str | None:
    if usage.attempt is None:
        return None
    last = max((t[-1] for t in _times(usage) if t), default=0.0)
    return f"{usage.attempt}:{max(0.0, last):.3f}"


def _times(usage: Usage) -> list[list[float]]:
    return [*(one.t for one in usage.series), *(one.t for one in usage.recorded)]


def _read(position: str) -> tuple[int, float]:
    match = _POSITION.fullmatch(position)
    if match is None:
        message = Text("this is no position that was given", "这不是此前给出的位置")
        raise Invalid([FieldError("position", "bad-position", message)])
    return int(match[1]), float(match[2])
