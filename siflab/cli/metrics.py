"""`siflab metrics`."""

import argparse
from typing import Any

from siflab.cli.selection import find_id
from siflab.cli.terminal import harmless, in_words, pick, print_json, say, table
from siflab.runs import Usage, Viewer, get_metrics
from siflab.slurm.time import format_time

_CELL_SAMPLES = 3
_CELLS = 20
_RECORDED = 20


def metrics(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    run_id = find_id(viewer, options.id)
    every = {"most": None} if options.csv else {}
    usage = get_metrics(viewer, run_id, options.attempt, options.point, **every)
    if options.rank is not None:
        usage = usage.of_rank(options.rank)
    if options.json:
        print_json(usage.as_dict())
    elif options.csv:
        say(usage.as_csv().rstrip("\n"))
    else:
        say(in_lines(usage))
    return 0


def in_lines(usage: Usage) -> str:
    if not usage.nodes and not usage.recorded:
        return pick("nothing was measured yet", "还没有测量数据")
    parts = [_nodes(usage), _gpus(usage), _ranks(usage), _cells(usage), _recorded(usage), _advice(usage)]
    return "\n\n".join(part for part in parts if part)


def _nodes(usage: Usage) -> str:
    header = [
        pick("NODE", "节点"), pick("TIME", "用时"), pick("CPUS", "CPU"), pick("MOST", "峰值"), pick("OF", "申请"),
        pick("MEMORY", "内存"), pick("MOST", "峰值"), pick("OF", "申请"), pick("READ", "读取"), pick("WRITTEN", "写入"),
    ]  # fmt: skip
    rows = []
    for node in usage.nodes:
        facts, asked = node.summary, node.summary["asked"]
        cpu, memory = facts["cpu"] or {}, facts["memory"] or {}
        rows.append(
            [
                node.name,
                format_time(int(facts["seconds"])),
                _figure(cpu.get("mean"), 1),
                _figure(cpu.get("peak"), 1),
                _figure(asked["cpus"], 0),
                _size(memory.get("mean")),
                _size(memory.get("peak")),
                _size(asked["memory"]),
                _size(facts["read"]),
                _size(facts["written"]),
            ]
        )
    return table(header, rows, [20] + [0] * 9) if rows else ""


def _gpus(usage: Usage) -> str:
    header = [
        "GPU", pick("NAME", "型号"), pick("USE", "使用率"), pick("IDLE", "空闲"), pick("MEMORY", "显存峰值"),
        pick("OF", "总显存"), pick("HEAT", "温度峰值"), pick("POWER", "平均功率"), pick("SLOWED BY", "降频原因"),
    ]  # fmt: skip
    rows = []
    for node in usage.nodes:
        for gpu in node.summary["gpus"]:
            memory = gpu["memory"] or {}
            rows.append(
                [
                    str(gpu["gpu"]) if len(usage.nodes) == 1 else f"{node.name}:{gpu['gpu']}",
                    str(gpu["name"] or ""),
                    _figure((gpu["util"] or {}).get("mean"), 0, " %"),
                    _figure(100 * gpu["idle"] if gpu["idle"] is not None else None, 0, " %"),
                    _size(memory.get("peak")),
                    _size(memory.get("total")),
                    _figure((gpu["temp"] or {}).get("peak"), 0, " °C"),
                    _figure((gpu["power"] or {}).get("mean"), 0, " W"),
                    _slowed(gpu),
                ]
            )
    if rows:
        return table(header, rows, [24, 24] + [0] * 7)
    if usage.resources.get("gpus") and usage.nodes and not any(node.summary["nvml"] for node in usage.nodes):
        return pick(
            "no figures of GPUs: no NVIDIA driver could be asked in the job",
            "没有 GPU 数据：作业中无法访问 NVIDIA 驱动",
        )
    return ""


def _slowed(gpu: dict[str, Any]) -> str:
    causes = [(gpu["heat"], pick("heat", "过热")), (gpu["capped"], pick("power", "功率"))]
    return ", ".join(f"{name} {100 * share:.0f} %" for share, name in causes if share)


def _ranks(usage: Usage) -> str:
    rows = [
        [
            str(rank["rank"]),
            node.name,
            _figure((rank["cpu"] or {}).get("mean"), 1),
            _size((rank["memory"] or {}).get("peak")),
            _size(rank["read"]),
            _size(rank["written"]),
        ]
        for node in usage.nodes
        for rank in node.summary["ranks"]
    ]
    header = [
        pick("RANK", "进程"), pick("NODE", "节点"), pick("CPUS", "CPU"), pick("MEMORY", "内存峰值"),
        pick("READ", "读取"), pick("WRITTEN", "写入"),
    ]  # fmt: skip
    return table(header, rows, [0, 20, 0, 0, 0, 0]) if rows else ""


def _cells(usage: Usage) -> str:
    """Those of the first node that took longest, in order."""
    cells = (
        [cell for cell in usage.nodes[0].summary["cells"] if cell["samples"] >= _CELL_SAMPLES] if usage.nodes else []
    )
    longest = sorted(cells, key=lambda cell: -cell["seconds"])[:_CELLS]
    rows = [
        [
            str(cell["number"] or cell["cell"]),
            format_time(int(cell["seconds"])),
            _figure(cell["util"], 0, " %"),
            _figure(cell["cpu"], 1),
            _size(cell["memory"]),
            _size(cell["read"]),
        ]
        for cell in sorted(longest, key=lambda cell: cell["cell"])
    ]
    header = [
        pick("CELL", "单元格"), pick("TIME", "用时"), pick("GPU", "GPU"), pick("CPUS", "CPU"),
        pick("MEMORY", "内存峰值"), pick("READ", "读取"),
    ]  # fmt: skip
    return table(header, rows, [0] * 6) if rows else ""


def _recorded(usage: Usage) -> str:
    rows = []
    for one in usage.recorded[:_RECORDED]:
        numbers = [value for value in one.values if isinstance(value, (int, float)) and not isinstance(value, bool)]
        rank = "" if one.rank is None else str(one.rank)
        rows.append([one.name, rank, str(len(one.values)), _value(one.values[-1]),
                     _value(min(numbers, default=None)), _value(max(numbers, default=None))])  # fmt: skip
    header = [
        pick("RECORDED", "记录值"), pick("RANK", "进程"), pick("TIMES", "次数"), pick("LAST", "最后"),
        pick("LEAST", "最小"), pick("MOST", "最大"),
    ]  # fmt: skip
    return table(header, rows, [24, 0, 0, 24, 0, 0]) if rows else ""


def _advice(usage: Usage) -> str:
    lines = []
    for one in usage.advice:
        lines.append(f"* {harmless(in_words(one.said.text))}")
        options = "".join(f" --with {name}={value}" for name, value in one.said.request.items())
        if options:
            lines.append(f"  siflab rerun {usage.run_id}{options}")
    return "\n".join(lines)


def _value(value: object) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _figure(value: float | None, digits: int, unit: str = "") -> str:
    return "" if value is None else f"{value:.{digits}f}{unit}"


def _size(value: float | None) -> str:
    """Bytes, in powers of 1024 as Slurm has them."""
    if value is None:
        return ""
    for unit in ("B", "K", "M", "G"):
        if value < 1024:
            return f"{value:.0f}{unit}" if unit == "B" or value >= 100 else f"{value:.1f}{unit}"
        value /= 1024
    return f"{value:.1f}T"
