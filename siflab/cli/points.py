"""`siflab points`."""

import argparse
from typing import Any

from siflab.cli.selection import find_id
from siflab.cli.terminal import harmless, in_words, pick, print_json, say, width
from siflab.runs import PointTable, Viewer, list_points, rerun_failed
from siflab.runs.words import STATES
from siflab.runs.words import points as points_words
from siflab.slurm.time import format_time

_MOST = 24  # columns of a value


def points(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    run_id = find_id(viewer, options.id)
    if options.rerun_failed:
        run = rerun_failed(viewer, run_id)
        if options.json:
            print_json(run.as_dict())
        else:
            say(harmless(in_words(run.reason)) if run.reason else in_words(run.state_text))
        return 0
    table = list_points(viewer, run_id)
    if options.sort or options.reverse:
        table = table.sorted_by(options.sort or "number", options.reverse)
    if options.json:
        print_json(table.as_dict())
    elif options.csv:
        say(table.as_csv().rstrip("\n"))
    else:
        say(_drawn(table))
    return 0


def _drawn(table: PointTable) -> str:
    names = ["#", pick("state", "状态"), pick("time", "用时"), *table.parameters, *table.values]
    rows = [names]
    for point in table.points:
        cells = [point.parameters.get(name) for name in table.parameters] + [point.values.get(n) for n in table.values]
        spent = format_time(int(point.seconds)) if point.seconds is not None else ""
        rows.append([str(point.number), in_words(STATES[point.state]), spent, *map(_short, cells)])
    widths = [max(width(row[column]) for row in rows) for column in range(len(names))]
    lines = [
        "  ".join(cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)) for row in rows
    ]
    counts: dict[str, int] = {}
    for point in table.points:
        counts[point.state] = counts.get(point.state, 0) + 1
    return "\n".join([*(line.rstrip() for line in lines), in_words(points_words(counts))])


def _short(value: Any) -> str:
    if value is None:
        return ""
    shown = harmless(f"{value:.6g}" if isinstance(value, float) else str(value))
    return shown if width(shown) <= _MOST else shown[: _MOST - 1] + "…"
