"""One look at the node: processes, cgroup, GPUs; and what several looks come to in one sample."""

from __future__ import annotations

import os
import re
from typing import Any

from . import usage_nvml
from .usage_cgroup import Cgroup
from .usage_files import DataFile, DataFiles
from .usage_gpus import Gpu, own_gpus, read_gpu
from .usage_processes import Process, Processes
from .usage_summary import MEANS, PEAKS

Key = tuple[str, int]
"""("node", 0), ("rank", 3), ("gpu", 1)."""
_NODE: Key = ("node", 0)
_FILES_EVERY = 6  # looks
_NUMBER = re.compile(r"\d{1,12}", re.ASCII)
_DIGITS = {"cpu": 2, "top": 2, "busy": 1, "blocked": 1, "processes": 1, "util": 1, "power": 1, "heat": 3, "capped": 3}


class Look:
    """Remembers what the last look saw, since CPU time is a difference."""

    def __init__(self, with_ranks: bool = False) -> None:
        self.has_nvml = False
        self._cgroup = Cgroup()
        self._processes = Processes(os.getpid(), with_ranks)
        self._files = DataFiles()
        self._new: list[DataFile] = []
        self._nvml: Any = None
        self._gpus: list[Gpu] = []
        self._by_cgroup = self._cgroup.cpu_seconds() is not None
        self._cpu = 0.0
        self._seconds: dict[int, float] = {}
        self._rank_cpu: dict[int, float] = {}
        self._peaks: dict[Key, int] = {}
        self._looks = 0

    def begin(self) -> None:
        """From now on CPU time is counted."""
        processes = self._processes.look(self._cgroup.pids())
        self._node(processes, 1.0)
        self._ranks(processes, 1.0)

    def gpu_facts(self) -> list[dict[str, Any]]:
        """Loads the driver's library, which may take a second: a line for each of the job's GPUs."""
        self._nvml = usage_nvml.load()
        self.has_nvml = self._nvml is not None
        if self._nvml is not None:
            self._gpus = own_gpus(self._nvml, os.environ)
        return [
            {"gpu": gpu.number, "uuid": gpu.uuid[:64], "name": gpu.name[:64], "total": gpu.total, "mig": gpu.mig}
            for gpu in self._gpus
        ]

    def asked(self) -> dict[str, Any]:
        """CPUs, bytes of memory and GPUs of this node, by what Slurm says in the environment, else by what is there."""
        cpus = _number("SLURM_CPUS_PER_TASK") or _number("SLURM_CPUS_ON_NODE") or len(os.sched_getaffinity(0))
        per_node, per_cpu = _number("SLURM_MEM_PER_NODE"), _number("SLURM_MEM_PER_CPU")
        memory = per_node << 20 if per_node else per_cpu * cpus << 20 if per_cpu else self._cgroup.memory_limit()
        given = os.environ.get("SLURM_GPUS_ON_NODE", "")
        gpus = int(given) if _NUMBER.fullmatch(given) else len(self._gpus)
        return {"cpus": cpus, "memory": memory, "gpus": gpus}

    def read(self, seconds: float) -> dict[Key, dict[str, Any]]:
        """What there is now, and CPU since the last look, `seconds` ago."""
        processes = self._processes.look(self._cgroup.pids())
        if self._looks % _FILES_EVERY == 0:
            self._new += self._files.look(process.pid for process in processes)
        self._looks += 1
        found: dict[Key, dict[str, Any]] = {_NODE: self._node(processes, max(seconds, 0.01))}
        found.update(self._ranks(processes, max(seconds, 0.01)))
        ranks = {process.pid: process.rank for process in processes}
        for gpu in self._gpus:
            values = read_gpu(self._nvml, gpu, ranks)
            found["gpu", gpu.number] = {**values, **({} if gpu.rank is None else {"rank": gpu.rank})}
        return found

    def new_files(self) -> list[DataFile]:
        new, self._new = self._new, []
        return new

    def _node(self, processes: list[Process], seconds: float) -> dict[str, Any]:
        before, self._cpu = self._cpu, sum(process.all_seconds for process in processes)
        if self._by_cgroup:
            self._cpu = self._cgroup.cpu_seconds() or before
        each = {process.pid: process.seconds for process in processes}
        used = [(value - self._seconds.get(pid, value)) / seconds for pid, value in each.items()]
        self._seconds = each
        memory = self._cgroup.memory_bytes()
        return {
            "cpu": max(0.0, self._cpu - before) / seconds,
            "top": max([0.0, *used]),
            "busy": sum(value > 0.5 for value in used),
            "blocked": sum(process.blocked for process in processes),
            "processes": len(processes),
            **self._memory(_NODE, processes, memory),
            **_bytes(processes, "read", "written", "disk_read", "disk_written"),
            "open": self._files.open_bytes,
        }

    def _ranks(self, processes: list[Process], seconds: float) -> dict[Key, dict[str, Any]]:
        groups: dict[int, list[Process]] = {}
        for process in processes:
            if process.rank is not None:
                groups.setdefault(process.rank, []).append(process)
        found: dict[Key, dict[str, Any]] = {}
        for rank, group in sorted(groups.items()):
            total = sum(process.all_seconds for process in group)
            used = max(0.0, total - self._rank_cpu.get(rank, total)) / seconds
            self._rank_cpu[rank] = total
            memory = self._memory(("rank", rank), group, None)
            found["rank", rank] = {"cpu": used, "memory": memory["memory"], **_bytes(group, "read", "written")}
        return found

    def _memory(self, key: Key, processes: list[Process], known: int | None) -> dict[str, int]:
        """Now, and the most so far: what one process once had, and not now, is added."""
        memory = known
        if memory is None:
            shared = max((process.shared for process in processes), default=0)
            memory = shared + sum(process.private for process in processes)
        above = max((process.highest - process.private - process.shared for process in processes), default=0)
        self._peaks[key] = max(self._peaks.get(key, 0), memory + max(0, above))
        return {"memory": memory, "peak": self._peaks[key]}


class Window:
    """Looks that become one sample: means over time, peaks, and the last of all else."""

    def __init__(self) -> None:
        self.cell: tuple[Any, Any] = (None, None)
        self.seconds = 0.0
        self._values: dict[Key, dict[str, Any]] = {}
        self._weights: dict[Key, float] = {}

    def add(self, key: Key, values: dict[str, Any], seconds: float) -> None:
        if key == _NODE:
            self.seconds += seconds
        kept, weight = self._values.setdefault(key, {}), self._weights.get(key, 0.0)
        self._weights[key] = whole = weight + seconds
        for name, value in values.items():
            if name in MEANS and name in kept and whole:
                kept[name] = (kept[name] * weight + value * seconds) / whole
            elif name in PEAKS:
                kept[name] = max(value, kept.get(name, value))
            else:
                kept[name] = value

    def lines(self, t: float) -> list[dict[str, Any]]:
        index, number = self.cell
        lines = []
        for key, values in self._values.items():
            line: dict[str, Any] = {"t": t, "d": round(self._weights[key], 2)}
            if key != _NODE:
                line[key[0]] = key[1]
            line.update(
                {name: round(value, _DIGITS[name]) if name in _DIGITS else value for name, value in values.items()}
            )
            if key[0] != "rank" and index is not None:
                line["cell"] = index
                if key == _NODE and number is not None:
                    line["number"] = number
            lines.append(line)
        return lines


def _bytes(processes: list[Process], *names: str) -> dict[str, int]:
    return {name: sum(getattr(process, name) for process in processes) for name in names}


def _number(name: str) -> int:
    """A number of the environment; 0 where there is none (of memory, 0 means all)."""
    text = os.environ.get(name, "")
    return int(text) if _NUMBER.fullmatch(text) else 0
