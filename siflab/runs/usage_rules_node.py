"""Rules of advice on CPUs, memory and data."""

from math import ceil

from siflab.inside.usage_summary import number
from siflab.runs.usage_case import GIB, MIB, Case, NodeCase, grown, seconds_of, size, span, trend
from siflab.runs.usage_words import Said, both
from siflab.text import Text


def memory_grows(case: Case) -> Said | None:
    for node in case.nodes:
        found = trend(node.samples.node, "memory")
        if found is None or found[0] * seconds_of(node.samples.node) < max(512 * MIB, 0.05 * node.memory):
            continue
        slope, last = found
        text = both(
            "The memory in use on {0} grows steadily, by {rate} an hour, to {last} at the end.",
            "{0}的内存占用持续增长，每小时约 {rate}，结束时为 {last}。",
            case.where(node),
            rate=size(slope * 3600),
            last=size(last),
        )
        if node.memory > last:
            text += both(
                "The {asked} asked for would be full after about {0} more.",
                "再过约 {0} 就会用满申请的 {asked}。",
                span((node.memory - last) / slope),
                asked=size(node.memory),
            )
        text += Text(
            "Look for what is kept from every step: lists of tensors or outputs, caches, figures that are not closed; "
            "with DataLoader workers keep data in arrays, not in Python lists.",
            "请检查每一步都被保留的东西：张量或输出的列表、缓存、未关闭的图；使用 DataLoader worker 时，数据请用数组而"
            "不是 Python 列表。",
        )
        return Said("memory_grows", text)
    return None


def cpus_unused(case: Case) -> Said | None:
    used, cpus = [], []
    for node in case.nodes:
        p95 = number((node.samples.summary.get("cpu") or {}).get("p95"))
        if p95 is None or not node.cpus:
            return None
        used.append(p95)
        cpus.append(node.cpus)
    if not used:
        return None
    asked, most = max(cpus), max(used)
    need = max(1, ceil(most * 1.25))
    if asked < 4 or most >= 0.5 * asked or asked - need < 2:
        return None
    return Said(
        "cpus_unused",
        both(
            "Of {asked} CPUs asked for, no more than {most:.1f} were in use for 95 % of the time: ask for {need} "
            "(--cpus {need}). The run waits less in the queue, or use them: more DataLoader workers, more processes.",
            "申请了 {asked} 个 CPU，但 95% 的时间内使用不超过 {most:.1f} 个：可改为申请 {need} 个（--cpus {need}），排"
            "队会更短；或把它们用起来：更多 DataLoader worker、更多进程。",
            asked=asked,
            most=most,
            need=need,
        ),
        {"cpus": need},
    )


def memory_unused(case: Case) -> Said | None:
    peaks = [number((node.samples.summary.get("memory") or {}).get("peak")) for node in case.nodes]
    asked = min((node.memory for node in case.nodes), default=0)
    known = [peak for peak in peaks if peak is not None]
    if not known or len(known) < len(peaks) or asked < 8 * GIB:
        return None
    most = max(known)
    need = ceil(most * 1.3 / GIB) + 1
    if most >= 0.4 * asked or any(_uses_cache(node) for node in case.nodes):
        return None
    return Said(
        "memory_unused",
        both(
            "Of {asked} of memory asked for, at most {most} was in use: {need} GB would do (--memory {need}G), and "
            "the run may start sooner.",
            "申请了 {asked} 内存，最多只用了 {most}：{need} GB 就够（--memory {need}G），可能更早开始运行。",
            asked=size(asked),
            most=size(most),
            need=need,
        ),
        {"memory": f"{need}G"},
    )


def _uses_cache(node: NodeCase) -> bool:
    """It read a good part of that memory, and again from the cache of files, which is in the job's memory too."""
    lines = node.samples.node
    read, from_disk = grown(lines, "read"), grown(lines, "disk_read")
    return read > 0.3 * node.memory and read > 1.5 * from_disk


def data_local(case: Case) -> Said | None:
    """Large files that were open all the time were read from storage several times over, in the later half of the run,
    in which no other came in addition."""
    for node in case.nodes:
        lines = node.samples.node
        later = lines[len(lines) // 2 :]
        data = sum(node.samples.files.values())
        had = [number(line.get("open")) or 0 for line in later]
        if not later or data < 1 * GIB or sum(value > 0 for value in had) < 0.8 * len(had):
            continue
        if node.samples.last_file is None or node.samples.last_file > later[0]["t"]:
            continue
        whole, half = grown(lines, "disk_read"), grown(later, "disk_read")
        if whole < 3 * data or half < 1.5 * data:
            continue
        name, largest = max(node.samples.files.items(), key=lambda file: file[1])
        fits = node.memory and data < 0.6 * node.memory
        where = Text(
            "read it into memory once (it fits), or copy it to the node's own disk first",
            "一次性读入内存（放得下），或先复制到节点本地磁盘",
        )
        if not fits:
            where = Text(
                "copy it to the node's own disk first, and read it there", "先复制到节点本地磁盘，再从那里读取"
            )
        return Said(
            "data_local",
            both(
                "The data ({data} in large files; the largest is {name}, {largest}) was read from storage {times:.0f} "
                "times over, {whole} in all: {0}.",
                "数据（大文件共 {data}，最大的是 {name}，{largest}）从存储中被重复读取了约 {times:.0f} 遍，共 "
                "{whole}：{0}。",
                where,
                data=size(data),
                name=name.partition("#")[0],
                largest=size(largest),
                times=whole / data,
                whole=size(whole),
            ),
        )
    return None
