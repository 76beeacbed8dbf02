"""From the samples of one node to its summary, one line after the other: usage.json is made of it, and a reader makes
it of the samples where the runner was killed before it could."""

from __future__ import annotations

from typing import Any

MEANS = ("cpu", "top", "busy", "blocked", "processes", "util", "power", "heat", "capped")
"""Fields of a sample that are means over its time (`d` seconds)."""
PEAKS = ("memory", "peak", "own", "temp", "open")
"""And that are the highest seen in it; bytes, degrees Celsius."""
COUNTERS = ("read", "written", "disk_read", "disk_written")
"""Bytes since the job's processes began."""
_CELLS = 2000
_BIN = 0.05  # of a CPU, for the percentile


class Figure:
    """Mean, over time, and peak of one quantity."""

    def __init__(self) -> None:
        self.weight = self.total = 0.0
        self.peak: float | None = None

    def add(self, value: float, seconds: float) -> None:
        self.weight += seconds
        self.total += value * seconds
        self.peak = value if self.peak is None else max(self.peak, value)

    @property
    def mean(self) -> float | None:
        return self.total / self.weight if self.weight else self.peak

    def as_dict(self) -> dict[str, float] | None:
        mean = self.mean
        return None if mean is None or self.peak is None else {"mean": _short(mean), "peak": _short(self.peak)}


class _Group:
    """Samples of the node, of a rank, or of a GPU."""

    def __init__(self) -> None:
        self.figures: dict[str, Figure] = {}
        self.last: dict[str, Any] = {}
        self.samples = 0

    def add(self, line: dict[str, Any], seconds: float) -> None:
        self.samples += 1
        for name in (*MEANS, *PEAKS):
            value = number(line.get(name))
            if value is not None:
                self.figures.setdefault(name, Figure()).add(value, seconds)
        for name in COUNTERS:
            value = number(line.get(name))
            if value is not None:
                self.last[name] = max(int(value), self.last.get(name, 0))

    def figure(self, name: str) -> dict[str, float] | None:
        return self.figures[name].as_dict() if name in self.figures else None

    def mean(self, name: str) -> float | None:
        return self.figures[name].mean if name in self.figures else None

    def peak(self, name: str) -> float | None:
        return self.figures[name].peak if name in self.figures else None


class _Cell(_Group):
    def __init__(self, number: object) -> None:
        super().__init__()
        self.number, self.seconds, self.util = number, 0.0, Figure()
        self.read: int | None = None


class Summary:
    """`add` takes each line of usage.jsonl, as a mapping; lines that are none of ours are passed over."""

    def __init__(self) -> None:
        self.head: dict[str, Any] = {}
        self.ended: float | None = None
        self._node = _Group()
        self._ranks: dict[int, _Group] = {}
        self._gpus: dict[int, _Group] = {}
        self._facts: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, _Cell] = {}
        self._cpu: dict[int, float] = {}

    def add(self, line: dict[str, Any]) -> None:
        gpu, rank, seconds = line.get("gpu"), line.get("rank"), number(line.get("d"))
        if "began" in line:
            self.head = {**self.head, **line}
        elif isinstance(gpu, int) and "uuid" in line:
            self._facts[gpu] = {name: line.get(name) for name in ("uuid", "name", "total", "mig")}
        elif seconds is None or number(line.get("t")) is None:
            return
        elif isinstance(gpu, int):
            self._gpus.setdefault(gpu, _Group()).add(line, seconds)
            if isinstance(rank, int):
                self._gpus[gpu].last["rank"] = rank
            self._in_cell(line, seconds, line.get("util"))
        elif isinstance(rank, int):
            self._ranks.setdefault(rank, _Group()).add(line, seconds)
        else:
            self._node.add(line, seconds)
            self.ended = line["t"]
            cpu = number(line.get("cpu"))
            if cpu is not None:
                place = int(cpu / _BIN)
                self._cpu[place] = self._cpu.get(place, 0.0) + seconds
            self._in_cell(line, seconds, None)

    def _in_cell(self, line: dict[str, Any], seconds: float, util: object) -> None:
        index = line.get("cell")
        if not isinstance(index, int) or (index not in self._cells and len(self._cells) >= _CELLS):
            return
        cell = self._cells.setdefault(index, _Cell(line.get("number")))
        if "gpu" in line:
            value = number(util)
            if value is not None:
                cell.util.add(value, seconds)
            return
        before = self._node.last.get("read_before", 0)
        self._node.last["read_before"] = read = self._node.last.get("read", 0)
        cell.read = (cell.read or 0) + max(0, read - before)
        cell.seconds += seconds
        cell.add(line, seconds)

    def as_dict(self) -> dict[str, Any]:
        """The shape of usage.json (see `usage`)."""
        head, node = self.head, self._node
        began = number(head.get("began"))
        return {
            "version": 1,
            "node": head.get("node"),
            "number": head.get("number", 0),
            "began": began,
            "ended": self.ended,
            "seconds": round(self.ended - began, 1) if began is not None and self.ended is not None else 0.0,
            "samples": node.samples,
            "nvml": bool(head.get("nvml") or self._facts),
            "asked": {name: head.get(name) for name in ("cpus", "memory", "gpus")},
            "cpu": _with(node.figure("cpu"), p95=self._percentile(0.95)),
            "memory": _memory(node),
            **{name: node.last.get(name) for name in COUNTERS},
            "ranks": [
                {
                    "rank": rank,
                    "cpu": group.figure("cpu"),
                    "memory": _memory(group),
                    "read": group.last.get("read"),
                    "written": group.last.get("written"),
                }
                for rank, group in sorted(self._ranks.items())
            ],
            "gpus": [self._gpu(index, group) for index, group in sorted(self._gpus.items())],
            "cells": [_cell(index, cell) for index, cell in sorted(self._cells.items())],
        }

    def _gpu(self, index: int, group: _Group) -> dict[str, Any]:
        facts = self._facts.get(index, {})
        util = group.mean("util")
        return {
            "gpu": index,
            "rank": group.last.get("rank"),
            "uuid": facts.get("uuid"),
            "name": facts.get("name"),
            "mig": bool(facts.get("mig")),
            "samples": group.samples,
            "util": group.figure("util"),
            "idle": round(1 - util / 100, 3) if util is not None else None,
            "memory": _with(group.figure("memory"), total=facts.get("total")),
            "own": group.figure("own"),
            "temp": group.figure("temp"),
            "power": group.figure("power"),
            "heat": _share(group.mean("heat")),
            "capped": _share(group.mean("capped")),
        }

    def _percentile(self, share: float) -> float | None:
        wanted = share * sum(self._cpu.values())
        for place in sorted(self._cpu):
            wanted -= self._cpu[place]
            if wanted <= 0:
                return round((place + 1) * _BIN, 2)
        return None


def _memory(group: _Group) -> dict[str, float] | None:
    figure = group.figure("memory")
    return figure and {**figure, "peak": max(figure["peak"], group.peak("peak") or 0)}


def _cell(index: int, cell: _Cell) -> dict[str, Any]:
    util, cpu = cell.util.mean, cell.mean("cpu")
    return {
        "cell": index,
        "number": cell.number,
        "seconds": round(cell.seconds, 1),
        "samples": cell.samples,
        "util": round(util, 1) if util is not None else None,
        "cpu": round(cpu, 2) if cpu is not None else None,
        "memory": cell.peak("memory"),
        "read": cell.read,
    }


def _with(figure: dict[str, float] | None, **more: Any) -> dict[str, Any] | None:
    return None if figure is None else {**figure, **more}


def _share(value: float | None) -> float | None:
    return round(value, 3) if value is not None else None


def _short(value: float) -> float:
    return round(value) if value == int(value) or abs(value) >= 10_000 else round(value, 2)


def number(value: object) -> float | None:
    """A finite number that is no truth value; None for all else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or abs(value) > 1e300:
        return None
    return value
