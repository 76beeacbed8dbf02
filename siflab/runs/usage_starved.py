"""Why a GPU waits: what the node's CPUs and disks did meanwhile."""

from math import ceil

from siflab.runs.usage_case import MIB, Case, grown, mean, seconds_of
from siflab.runs.usage_samples import Line
from siflab.runs.usage_words import Said, both
from siflab.text import Text

_READING = 1 * MIB
"""Bytes a second from which on a process is taken to read data."""
_MARGIN = 1.6
"""Handing data over costs time too."""
_WORKERS = 16
"""That are suggested at most, a process."""


def why_starved(case: Case, phase: list[Line], util: float) -> Said | None:
    """`phase`: the time in which the GPU was in use, `util` percent of it. None where neither data nor CPU held it
    up."""
    idle = 1 - util / 100
    busy, top, blocked = (mean(phase, name) or 0.0 for name in ("busy", "top", "blocked"))
    reading = any(_rate(node.phase) >= _READING for node in case.nodes)
    ranks = max([1, *(len(node.samples.ranks) for node in case.nodes)])
    if reading and blocked >= 0.3 and blocked >= busy:
        return _storage(case, idle)
    if busy >= ranks * 1.5 and busy >= 2:
        return _workers(case, idle, busy, ranks)
    if top < 0.7:
        return None
    if reading:
        return _in_main(case, idle, ranks)
    return Said(
        "cpu_bound",
        both(
            "The GPU idled {idle:.0f} % of the time while one process computed on one CPU and read little: Python "
            "between the steps holds it up, not data. Profile it (torch.profiler, py-spy); move such work to the GPU, "
            "do it once before the training, or log and evaluate less often.",
            "GPU 有 {idle:.0f}% 的时间空闲，此时一个进程占满一个 CPU 且几乎不读数据：瓶颈是各步之间的 Python 代码，而"
            "不是数据加载。请用 torch.profiler 或 py-spy 分析；把这部分工作移到 GPU 上、在训练前一次做完，或减少记录和"
            "评估的次数。",
            idle=100 * idle,
        ),
    )


def _rate(lines: list[Line]) -> float:
    seconds = seconds_of(lines)
    return max(grown(lines, "read"), grown(lines, "disk_read")) / seconds if seconds > 0 else 0.0


def _storage(case: Case, idle: float) -> Said:
    rate = max(_rate(node.phase) for node in case.nodes) / MIB
    return Said(
        "data_storage",
        both(
            "The GPU idled {idle:.0f} % of the time; data loading waits for storage ({rate:.0f} MB/s, processes "
            "blocked in reads). Copy the data to the node's own disk first, or pack small files into few large ones "
            "(tar, LMDB, parquet); more workers (num_workers={workers}) hide some of the waiting.",
            "GPU 有 {idle:.0f}% 的时间空闲；数据加载在等待存储（{rate:.0f} MB/s，进程阻塞在读操作上）。请先把数据复制"
            "到节点本地磁盘，或把小文件打包成少量大文件（tar、LMDB、parquet）；增加 worker（num_workers={workers}）可"
            "掩盖部分等待。",
            idle=100 * idle,
            rate=rate,
            workers=max(4, min(_WORKERS, 2 * _cpus(case))),
        ),
    )


def _workers(case: Case, idle: float, busy: float, ranks: int) -> Said:
    """They are there, and are all at work: so many more that the GPU need not wait."""
    now = max(1, round(busy / ranks))
    wanted = min(_WORKERS, max(now + 1, ceil(now / max(0.1, 1 - idle))))
    why = Text(f"{now} busy worker processes are not enough", f"{now} 个繁忙的 worker 进程不够用")
    return _said("data_workers", case, idle, wanted, ranks, why)


def _in_main(case: Case, idle: float, ranks: int) -> Said:
    wanted = min(_WORKERS, 1 + ceil(_MARGIN * idle / max(0.1, 1 - idle)))
    why = Text("the process that trains also reads and prepares the data", "训练进程自己读取和处理数据")
    return _said("data_in_main", case, idle, max(2, wanted), ranks, why)


def _said(code: str, case: Case, idle: float, wanted: int, ranks: int, why: Text) -> Said:
    cpus, needed = _cpus(case), ranks * (wanted + 1)
    more = cpus and needed > cpus
    words = both(
        "The GPU idled {idle:.0f} % of the time; data loading waits: {0}. Try num_workers={wanted} in the DataLoader, "
        "with pin_memory=True.",
        "GPU 有 {idle:.0f}% 的时间空闲，在等待数据加载：{0}。可尝试 DataLoader 的 num_workers={wanted}，并设 "
        "pin_memory=True。",
        why,
        idle=100 * idle,
        wanted=wanted,
    )
    if more:
        words += both(
            "That needs {needed} CPUs instead of {cpus} (--cpus {needed}).",
            "这需要 {needed} 个 CPU（当前 {cpus} 个；--cpus {needed}）。",
            needed=needed,
            cpus=cpus,
        )
    return Said(code, words, {"cpus": needed} if more else {})


def _cpus(case: Case) -> int:
    return min((node.cpus for node in case.nodes if node.cpus), default=0)
