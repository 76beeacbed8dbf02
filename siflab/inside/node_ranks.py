"""The processes of one node's ranks, as its torchrun has them: which there are, when each went, and what ended it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from .saving import write_all

_TAIL = 65536  # bytes of what torchrun said last
_EXIT = re.compile(r"exitcode {0,8}: {0,8}(-?[0-9]{1,4}) {1,8}\(pid: ([0-9]{1,10})\)", re.ASCII)
_RANK = re.compile(rb"\0RANK=([0-9]{1,6})\0", re.ASCII)


class NodeRanks:
    """Of one torchrun, whose stderr comes through a pipe and goes on to ours: it alone says by which signal a rank
    ended, ``exitcode  : -9 (pid: 7)``."""

    def __init__(self, torchrun: subprocess.Popen[bytes]) -> None:
        self._torchrun = torchrun
        self._ranks: dict[int, int] = {}  # process id -> rank
        self._gone: dict[int, float] = {}  # process id -> when it was seen to be gone, seconds since the epoch
        self._said = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def look(self) -> list[int]:
        """The process ids of the ranks that live."""
        living = children(self._torchrun.pid)
        for pid in living:
            rank = None if pid in self._ranks else _rank_of(pid)
            if rank is not None:
                self._ranks[pid] = rank
        moment = time.time()
        for pid in self._ranks.keys() - set(living):
            self._gone.setdefault(pid, moment)
        return [pid for pid in living if pid in self._ranks]

    def ended(self) -> None:
        """To be called when torchrun has ended."""
        self.look()
        self._reader.join(2.0)

    @property
    def began(self) -> bool:
        """Any rank was ever seen."""
        return bool(self._ranks)

    def last_words(self) -> str:
        """The last line of what torchrun said."""
        lines = self._said.decode("utf-8", "replace").strip().splitlines()
        return lines[-1].strip()[:300] if lines else ""

    def ends_of(self, ranks: Iterable[int]) -> dict[int, tuple[float, int | None]]:
        """By rank: when it went (now for one that was never seen), and its exit code, negative for a signal, if
        torchrun said it."""
        codes = {int(pid): int(code) for code, pid in _EXIT.findall(self._said.decode("utf-8", "replace"))}
        pids = {rank: pid for pid, rank in self._ranks.items()}
        moment = time.time()
        return {rank: (self._gone.get(pids.get(rank, 0), moment), codes.get(pids.get(rank, 0))) for rank in ranks}

    def _read(self) -> None:
        assert self._torchrun.stderr is not None
        descriptor = self._torchrun.stderr.fileno()
        with suppress(OSError, ValueError):
            while data := os.read(descriptor, 65536):
                self._said = (self._said + data)[-_TAIL:]
                write_all(sys.stderr.fileno(), data)


def children(pid: int) -> list[int]:
    """The process ids of a process' own."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text().split()]
    return found


def _rank_of(pid: int) -> int | None:
    """None before it has its own environment."""
    with suppress(OSError):
        match = _RANK.search(b"\0" + Path(f"/proc/{pid}/environ").read_bytes())
        return int(match[1]) if match else None
    return None
