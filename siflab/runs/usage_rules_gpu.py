"""Rules of advice on GPUs."""

from siflab.inside.usage_summary import number
from siflab.runs.usage_case import GIB, IN_USE, MIB, Case, mean, seconds_of, size, span, trend
from siflab.runs.usage_samples import Line
from siflab.runs.usage_starved import why_starved
from siflab.runs.usage_words import Said, both
from siflab.text import Text

LOW = 70.0
"""Percent of use under which a GPU is worth a word."""
TIGHT = 0.10
"""Share of a GPU's memory that should stay free."""
_TOUCHED = 600 * MIB
"""What a GPU that nobody uses may have in use: its driver, or another's context."""


def gpu_unused(case: Case) -> Said | None:
    known = [(node, facts) for node, facts, _ in case.gpus if facts.get("util") is not None]
    idle = [(node, facts) for node, facts in known if _untouched(facts)]
    if not idle or len(known) < len(case.gpus):
        return None
    if len(idle) == len(known):
        return Said(
            "gpu_unused",
            both(
                "No GPU was used, of {n} asked for. If this notebook needs none, ask for none; else see "
                "that "
                'the model and its data are on it (model.to("cuda")), and that torch.cuda.is_available() is True.',
                "申请了 {n} 个 GPU，但从未使用。若不需要 GPU，请不要申请；否则请确认模型和数据已放到 GPU 上"
                '（model.to("cuda")），且 torch.cuda.is_available() 为 True。',
                n=len(known),
            ),
            {"gpus": 0},
        )
    names = [case.where(node, facts.get("gpu")) for node, facts in idle]
    used = len(known) - len(idle)
    return Said(
        "gpu_unused",
        both(
            "{0}: never used, while {used} of {all} were. One process uses one GPU unless it is told otherwise: ask "
            "for {used}, or promote in distributed mode with one process a GPU.",
            "{0}从未被使用，而另外 {used} 个（共 {all} 个）被使用了。一个进程默认只用一个 GPU：请只申请 {used} 个，或"
            "用 distributed 模式提交，每个 GPU 一个进程。",
            Text(", ".join(name.en for name in names[:8]), "、".join(name.zh for name in names[:8])),
            used=used,
            all=len(known),
        ),
        {"gpus": used} if len(case.nodes) == 1 else {},
    )


def _untouched(facts: dict[str, object]) -> bool:
    util, own, memory = (facts.get(name) for name in ("util", "own", "memory"))
    peaks = [number(each.get("peak")) or 0 if isinstance(each, dict) else None for each in (util, own, memory)]
    return (peaks[0] or 0) < 1 and (peaks[1] == 0 if peaks[1] is not None else (peaks[2] or 0) < _TOUCHED)


def gpu_low(case: Case) -> Said | None:
    """Under 70 % while it was in use: for want of data, of CPU, or of work that is large enough."""
    phase = case.phase
    util = mean(phase, "util")
    if util is None or util >= LOW or seconds_of(phase) < 120 or len(phase) < 20:
        return None
    starved = why_starved(case, phase, util)
    if starved is not None:
        return starved
    filled = max((_filled(facts) or 0.0 for _, facts, _ in case.gpus), default=0.0)
    if 0 < filled < 0.5:
        en = "Its memory was at most {filled:.0f} % full: try a batch twice as large, and mixed precision (AMP)."
        zh = "其显存最多只用了 {filled:.0f}%：可尝试把批大小加倍，并使用混合精度（AMP）。"
    else:
        en = (
            "Often these are many small kernels, or waiting for the result of each step: call .item() and print less "
            "often, try torch.compile."
        )
        zh = "常见原因是大量小算子，或每一步都等待结果：减少 .item() 和打印的次数，可尝试 torch.compile。"
    return Said(
        "gpu_low",
        both(
            "The GPU was used {util:.0f} % of the time, and neither CPU nor data held it up. " + en,
            "GPU 平均使用率为 {util:.0f}%，且瓶颈不在 CPU 或数据。" + zh,
            util=util,
            filled=100 * filled,
        ),
    )


def gpu_late(case: Case) -> Said | None:
    """A long part of the run had no use for it."""
    nodes = [node for node in case.nodes if node.phase]
    if not nodes:
        return None
    whole, used = case.seconds, max(seconds_of(node.phase) for node in nodes)
    if used > 0.5 * whole or whole - used < 900:
        return None
    return Said(
        "gpu_late",
        both(
            "The GPU was in use for {0} of {1} only. Do what comes before and after it (downloads, preparing data, "
            "figures) in a notebook of its own, as a run without a GPU: that waits less, and costs no GPU-hours.",
            "在 {1} 中 GPU 只用了 {0}。请把其前后的工作（下载、数据预处理、作图）放到单独的 notebook 中，作为不带 GPU "
            "的运行提交：排队更短，也不消耗 GPU 机时。",
            span(used),
            span(whole),
        ),
    )


def gpu_memory_tight(case: Case) -> Said | None:
    found = [(filled, node, facts) for node, facts, _ in case.gpus if (filled := _filled(facts)) is not None]
    filled, node, facts = max(found, key=lambda one: one[0], default=(0.0, None, {}))
    if node is None or filled <= 1 - TIGHT:
        return None
    total = number(facts["memory"]["total"]) or 0
    return Said(
        "gpu_memory_tight",
        both(
            "{0} had {free:.0f} % of its {total} free at its fullest: a longer input may end the run with 'CUDA out "
            "of memory'. What PyTorch keeps in its cache counts, so there may be a little more. For room: a smaller "
            "batch with gradient accumulation, AMP, or activation checkpointing.",
            "{0} 的显存（{total}）最满时只剩 {free:.0f}%：输入稍长就可能因 CUDA out of memory 失败。PyTorch 的缓存也计"
            "入其中，实际余量可能略多。可减小批大小并使用梯度累积、AMP 或激活检查点。",
            case.where(node, facts.get("gpu")),
            free=100 * (1 - filled),
            total=size(total),
        ),
    )


def _filled(facts: dict[str, object]) -> float | None:
    memory = facts.get("memory")
    if not isinstance(memory, dict):
        return None
    total, peak = number(memory.get("total")), number(memory.get("peak"))
    return peak / total if total and peak is not None else None


def gpu_memory_grows(case: Case) -> Said | None:
    for node, facts, lines in case.gpus:
        name = "own" if any("own" in line for line in lines) else "memory"
        found = trend(lines, name)
        total = number((facts.get("memory") or {}).get("total")) or 80 * GIB
        if found is None or found[0] * seconds_of(lines) < max(512 * MIB, 0.03 * total):
            continue
        slope, last = found
        return Said(
            "gpu_memory_grows",
            both(
                "The memory in use on {0} grows steadily, by {rate} an hour: it is full after about {1} more. "
                "Something keeps what a step computed: sum losses with loss.item(), use torch.no_grad() in "
                "validation, detach what you keep.",
                "{0} 的显存占用持续增长，每小时约 {rate}：再过约 {1} 就会用满。某处保留了每一步的计算结果：用 "
                "loss.item() 累加损失，验证时用 torch.no_grad()，保留的张量先 detach。",
                case.where(node, facts.get("gpu")),
                span(max(0.0, total - last) / slope),
                rate=size(slope * 3600),
            ),
        )
    return None


def throttled_heat(case: Case) -> Said | None:
    for node, facts, lines in case.gpus:
        share, count = _throttled(lines, "heat")
        if share >= 0.05 and count >= 5:
            temp = facts.get("temp") or {}
            return Said(
                "throttled_heat",
                both(
                    "Heat held down the clocks of {0} in {share:.0f} % of the time that it worked (up to {temp:.0f} "
                    "°C). The run cannot change that: tell your administrator, with the node ({at}) and the time.",
                    "{0} 在其工作时间的 {share:.0f}% 内因过热降频（最高 {temp:.0f} °C）。运行本身无法改变：请把节点"
                    "（{at}）和时间告诉管理员。",
                    case.where(node, facts.get("gpu")),
                    share=100 * share,
                    temp=number(temp.get("peak")) or 0,
                    at=node.samples.name,
                ),
            )
    return None


def throttled_power(case: Case) -> Said | None:
    for node, facts, lines in case.gpus:
        share, _ = _throttled(lines, "capped")
        if share >= 0.5:
            power = facts.get("power") or {}
            return Said(
                "throttled_power",
                both(
                    "The power limit held down the clocks of {0} in {share:.0f} % of the time that it worked "
                    "({watts:.0f} W on average). Under full load many cards do that. Mixed precision (bf16) gets more "
                    "out of each watt; where other nodes with this card are faster, tell your administrator.",
                    "{0} 在其工作时间的 {share:.0f}% 内因功率上限降频（平均 {watts:.0f} W）。许多显卡在满载时都会这"
                    "样。混合精度（bf16）能效更高；若其他节点上的同型号显卡更快，请告诉管理员。",
                    case.where(node, facts.get("gpu")),
                    share=100 * share,
                    watts=number(power.get("mean")) or 0,
                ),
            )
    return None


def _throttled(lines: list[Line], name: str) -> tuple[float, int]:
    """(share of the time that it worked, samples)"""
    working = [line for line in lines if (number(line.get("util")) or 0) >= 10 * IN_USE]
    if len(working) < 24:
        return 0.0, 0
    return mean(working, name) or 0.0, sum((number(line.get(name)) or 0) > 0 for line in working)
