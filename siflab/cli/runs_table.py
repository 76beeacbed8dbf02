"""`siflab runs`."""

import argparse
import shutil
import sys
import time
from datetime import datetime

from siflab.cli.selection import nothing_yet
from siflab.cli.terminal import in_words, pick, print_json, say, table, warn, width
from siflab.runs import Run, RunList, Viewer, list_runs

_SHOWN = 20
_LIMITS = [0, 28, 0, 0, 0, 0, 0]
_WATCH = 2.0


def runs(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    if not options.watch:
        found = list_runs(viewer)
        if options.json:
            print_json(found.as_dict())
        else:
            _say(found, options.all)
        return 0 if found.reachable else 5
    while True:
        found = list_runs(viewer)
        if options.json:
            print_json(found.as_dict())
        else:
            if sys.stdout.isatty():
                sys.stdout.write("\x1b[H\x1b[2J")
            _say(found, options.all)
        time.sleep(_WATCH)


def _say(found: RunList, everything: bool) -> None:
    if found.message is not None:
        warn(f"siflab: {in_words(found.message)}")
    if not found.runs:
        say(nothing_yet())
        return
    shown = [run for index, run in enumerate(found.runs) if everything or index < _SHOWN or not run.ended]
    say(runs_table(shown, shutil.get_terminal_size().columns if sys.stdout.isatty() else None))
    if len(shown) < len(found.runs):
        more = len(found.runs) - len(shown)
        say(pick(f"and {more} older ones: siflab runs --all", f"还有 {more} 个较早的运行：siflab runs --all"))


def runs_table(shown: list[Run], columns: int | None) -> str:
    """As wide as a terminal of so many columns; None: as wide as it gets."""
    header = [
        pick("ID", "ID"),
        pick("NAME", "名称"),
        pick("STATE", "状态"),
        pick("JOB", "作业号"),
        pick("CELLS", "单元格"),
        pick("TIME", "用时"),
        pick("CREATED", "创建时间"),
        pick("WHERE / WHY", "节点 / 原因"),
    ]
    rows = [_row(run) for run in shown]
    before = table(header[:-1], [row[:-1] for row in rows], _LIMITS).splitlines()
    used = max(width(line) for line in before) + 2
    return table(header, rows, [*_LIMITS, 0 if columns is None else max(20, columns - used)])


def _row(run: Run) -> list[str]:
    progress = run.progress
    cells = f"{progress['cells_done']}/{progress['cells_total']}" if progress else "-"
    why = in_words(run.reason) if run.reason is not None else (run.node or "")
    return [
        run.id,
        run.name,
        pick(run.state.replace("_", " "), run.state_text.zh),
        run.job_id or "-",
        cells,
        elapsed(run),
        f"{run.created_at:%m-%d %H:%M}",
        why,
    ]


def elapsed(run: Run) -> str:
    if run.started_at is None:
        return "-"
    seconds = int(((run.ended_at or datetime.now().astimezone()) - run.started_at).total_seconds())
    minutes, second = divmod(max(0, seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{second:02}"
