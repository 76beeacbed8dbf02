"""`siflab show`."""

import argparse

from siflab.cli.runs_table import elapsed
from siflab.cli.selection import find_id
from siflab.cli.terminal import harmless, in_words, pick, print_json, say, width
from siflab.runs import Run, Viewer, get_provenance, get_run
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time


def show(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    run_id = find_id(viewer, options.id)
    if options.provenance:
        print_json(get_provenance(viewer, run_id))
        return 0
    run = get_run(viewer, run_id)
    if options.json:
        print_json(run.as_dict())
    else:
        say(in_lines(run))
    return 0


def in_lines(run: Run) -> str:
    lines = [
        (pick("run", "运行"), f"{run.id}  {run.name}"),
        (pick("state", "状态"), in_words(run.state_text)),
        (pick("why", "原因"), in_words(run.reason) if run.reason else ""),
        (pick("error", "错误"), _error(run)),
        *_diagnosis(run),
        (pick("cells", "单元格"), _cells(run)),
        (pick("points", "点"), f"siflab points {run.id}" if run.points else ""),
        (pick("job", "作业号"), run.job_id or ""),
        (pick("node", "节点"), run.node or ""),
        (pick("created", "创建时间"), f"{run.created_at:%F %T}"),
        (pick("expected", "预计开始"), f"{run.estimated_start:%F %T}" if run.estimated_start else ""),
        (pick("started", "开始时间"), f"{run.started_at:%F %T}" if run.started_at else ""),
        (pick("ended", "结束时间"), f"{run.ended_at:%F %T}" if run.ended_at else ""),
        (pick("time", "用时"), elapsed(run) if run.started_at else ""),
        (pick("attempts", "尝试次数"), str(run.attempts) if run.attempts > 1 else ""),
        (pick("resources", "资源"), _resources(run)),
        (pick("notebook", "来源"), run.source + _changed(run)),
        (pick("result", "结果"), run.output or ""),
        (pick("folder", "目录"), run.folder),
    ]
    most = max(width(name) for name, _ in lines)
    return "\n".join(f"{name}{' ' * (most - width(name))}  {harmless(value)}" for name, value in lines if value)


def describe_end(run: Run) -> str:
    """One line on how it ended."""
    why = in_words(run.reason) if run.reason else ""
    state = in_words(run.state_text)
    return harmless(
        pick(
            f"run {run.id}: {state}" + (f". {why}" if why else ""),
            f"运行 {run.id}：{state}" + (f"。{why}" if why else ""),
        )
    )


def _error(run: Run) -> str:
    if not run.error:
        return ""
    where = ""
    if run.error.get("cell_number"):
        line = run.error.get("line")
        number = run.error["cell_number"]
        where = pick(f"cell {number}", f"第 {number} 个单元格")
        where += (pick(f", line {line}", f"第 {line} 行") if line else "") + ": "
    return f"{where}{run.error.get('ename')}: {run.error.get('evalue')}"


def _diagnosis(run: Run) -> list[tuple[str, str]]:
    """What is known of its end, and how to run it again."""
    told = run.diagnosis
    if told is None:
        return []
    lines = [(pick("diagnosis", "诊断"), in_words(told.message))]
    if told.said is not None and told.said not in _error(run):
        lines.append((pick("said", "依据"), told.said))
    for change in told.changes:
        options = "".join(f" --with {name}={value}" for name, value in change.request.items())
        lines.append((in_words(change.title), f"siflab rerun {run.id}{options}"))
    return lines


def _cells(run: Run) -> str:
    if not run.progress:
        return ""
    done, total, current = (run.progress[name] for name in ("cells_done", "cells_total", "current_cell"))
    text = pick(f"{done} of {total}", f"{done}/{total}")
    return text + (pick(f", now in cell {current}", f"，正在运行第 {current} 个") if current else "")


def _resources(run: Run) -> str:
    resources = run.resources
    gpus = resources.get("gpus") or 0
    kind = resources.get("gpu_type") or "GPU"
    words = [
        str(resources.get("partition")),
        pick(f"{resources.get('nodes')} node(s)", f"{resources.get('nodes')} 个节点"),
        f"{gpus} x {kind}" if gpus else "",
        f"{resources.get('cpus')} CPU",
        format_memory(int(resources.get("memory_mib") or 0)),
        format_time(int(resources.get("time_seconds") or 0)),
        str(resources.get("image")),
    ]
    return ", ".join(word for word in words if word)


def _changed(run: Run) -> str:
    return pick(" (changed since)", "（此后已修改）") if run.source_changed else ""
