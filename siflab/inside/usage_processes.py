"""The job's processes on this node: CPU, memory, read and write, from /proc.

Of a process that has ended and was waited for, Linux adds time and bytes to its parent's, so a sum over those that live
loses nothing of short ones.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_NOT_OURS = 50000  # pids remembered at most


@dataclass
class Process:
    """`seconds` of CPU by itself, `all_seconds` with its ended children; the bytes too are with those. `read` and
    `written`: by system calls, from the cache too; `disk_read` and `disk_written`: from and to storage, also one on the
    network. `highest`: the most memory that it ever had in use."""

    pid: int
    blocked: bool = False
    seconds: float = 0.0
    all_seconds: float = 0.0
    private: int = 0
    shared: int = 0
    highest: int = 0
    read: int = 0
    written: int = 0
    disk_read: int = 0
    disk_written: int = 0
    rank: int | None = None


class Processes:
    """Finds them again at each look; a process once found stays one of the job's, also when its parent is gone."""

    def __init__(self, root: int, with_ranks: bool = False, proc: Path = Path("/proc")) -> None:
        self.root, self.with_ranks, self.proc = root, with_ranks, os.fspath(proc)
        self._ours: set[int] = {root}
        self._others: set[int] = set()
        self._ranks: dict[int, int | None] = {}

    def look(self, pids: list[int] | None = None) -> list[Process]:
        """`pids`: those of the job, where something knows them; else the tree below the root."""
        if pids is None:
            self._find()
        else:
            self._ours = set(pids)
        found = []
        for pid in sorted(self._ours):
            with suppress(OSError, ValueError, IndexError):
                found.append(self._read(pid))
        self._ours = {process.pid for process in found} | {self.root}
        self._ranks = {pid: rank for pid, rank in self._ranks.items() if pid in self._ours}
        return found

    def _find(self) -> None:
        with os.scandir(self.proc) as entries:
            there = {int(entry.name) for entry in entries if entry.name.isdigit()}
        self._others &= there
        new = there - self._others - self._ours
        parents = {}
        for pid in new:
            with suppress(OSError, ValueError, IndexError):
                parents[pid] = int(self._stat(pid)[1])
        while True:
            more = {pid for pid, parent in parents.items() if parent in self._ours} - self._ours
            if not more:
                break
            self._ours |= more
        self._others |= new - self._ours
        if len(self._others) > _NOT_OURS:
            self._others.clear()

    def _stat(self, pid: int) -> list[str]:
        """Fields from the state on (proc(5)): 0 is the state, 1 the parent."""
        return self._text(pid, "stat").rpartition(")")[2].split()

    def _read(self, pid: int) -> Process:
        fields = self._stat(pid)
        own = (int(fields[11]) + int(fields[12])) / _TICK
        process = Process(pid, fields[0] == "D", own, own + (int(fields[13]) + int(fields[14])) / _TICK)
        facts = _facts(self._text(pid, "status"))
        process.private = facts.get("RssAnon", 0) * 1024
        process.shared = facts.get("RssShmem", 0) * 1024
        process.highest = max(0, facts.get("VmHWM", 0) - facts.get("RssFile", 0)) * 1024
        with suppress(OSError):
            done = _facts(self._text(pid, "io"))
            process.read, process.written = done.get("rchar", 0), done.get("wchar", 0)
            process.disk_read, process.disk_written = done.get("read_bytes", 0), done.get("write_bytes", 0)
        if self.with_ranks:
            process.rank = self._rank(pid)
        return process

    def _rank(self, pid: int) -> int | None:
        if self._ranks.get(pid) is None:  # asked again: a child has its parent's until it executes its program
            with suppress(OSError):
                for word in self._text(pid, "environ").split("\0"):
                    if word.startswith("RANK=") and word[5:].isdigit():
                        self._ranks[pid] = int(word[5:])
        return self._ranks.get(pid)

    def _text(self, pid: int, name: str) -> str:
        descriptor = os.open(f"{self.proc}/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.read(descriptor, 1 << 16).decode("utf-8", "replace")
        finally:
            os.close(descriptor)


def _facts(text: str) -> dict[str, int]:
    found = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        number = value.split(None, 1)[:1]
        if number and number[0].isdigit():
            found[name] = int(number[0])
    return found
