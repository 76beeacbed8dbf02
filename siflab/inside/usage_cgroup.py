"""What Slurm's cgroup of this step says of CPU and memory: version 1 or 2, where it can be read from inside.

Memory is what cannot be taken back without swapping (anonymous, shared and the kernel's own pages); the cache of files,
which grows to whatever limit there is, is left out.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

_STEP = re.compile(r"^(/(?:[^/]+/){0,20}?job_\d{1,20}(?:/step_[^/]+)?)(?:/|$)", re.ASCII)
_V1_MEMORY = ("total_rss", "total_shmem")
_V2_MEMORY = ("anon", "shmem", "slab_unreclaimable", "kernel_stack", "pagetables")
_NO_LIMIT = 1 << 60


class Cgroup:
    """`root` is for tests."""

    def __init__(self, root: Path = Path("/")) -> None:
        self.cpu: Path | None = None
        self.memory: Path | None = None
        self.processes: Path | None = None
        self.unified = False
        hierarchy = root / "sys/fs/cgroup"
        for line in _lines(root / "proc/self/cgroup"):
            _, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            step = _STEP.match(path)
            if step is None or "/../" in path + "/":
                continue
            names = controllers.split(",") if controllers else []
            for place in [controllers, *names] if names else ["", "unified"]:
                folder = hierarchy / place / step[1].lstrip("/")
                if folder.is_dir():
                    self._take(names, folder, hierarchy / place / path.lstrip("/"))
                    break

    def _take(self, names: list[str], folder: Path, own: Path) -> None:
        if not names:
            if (folder / "cpu.stat").exists() and self.cpu is None:
                self.cpu, self.unified = folder / "cpu.stat", True
            if (folder / "memory.stat").exists() and self.memory is None:
                self.memory = folder / "memory.stat"
        if "cpuacct" in names:
            self.cpu, self.unified = folder / "cpuacct.usage", False
        if "memory" in names:
            self.memory = folder / "memory.stat"
        if self.processes is None and (own / "cgroup.procs").exists():
            self.processes = own / "cgroup.procs"

    def cpu_seconds(self) -> float | None:
        """Since the step began; None where it cannot be read."""
        with suppress(OSError, ValueError, TypeError):
            if self.unified and self.cpu is not None:
                return _figures(self.cpu)["usage_usec"] / 1e6
            if self.cpu is not None:
                return int(self.cpu.read_text()) / 1e9
        return None

    def memory_bytes(self) -> int | None:
        if self.memory is None:
            return None
        with suppress(OSError, ValueError):
            figures = _figures(self.memory)
            wanted = _V1_MEMORY if "total_rss" in figures else _V2_MEMORY
            if wanted[0] in figures:
                return sum(figures.get(name, 0) for name in wanted)
        return None

    def memory_limit(self) -> int | None:
        """Of the step or the job, whichever is smaller; None where there is none."""
        if self.memory is None:
            return None
        limits = []
        for folder in (self.memory.parent, self.memory.parent.parent):
            for name in ("memory.max", "memory.limit_in_bytes"):
                with suppress(OSError, ValueError):
                    limits.append(int((folder / name).read_text()))
        return min((limit for limit in limits if 0 < limit < _NO_LIMIT), default=None)

    def pids(self) -> list[int] | None:
        """Processes of this task; None where it cannot be read."""
        if self.processes is not None:
            with suppress(OSError, ValueError):
                return [int(word) for word in self.processes.read_text().split()]
        return None


def _figures(path: Path) -> dict[str, int]:
    return {name: int(value) for name, _, value in (line.partition(" ") for line in _lines(path)) if value.isdigit()}


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []
