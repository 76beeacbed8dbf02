"""Large files that the job's processes hold open for reading: its data, as far as that can be seen."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

LARGE = 16 << 20
"""Bytes from which on a file may be data; smaller ones come and go between two looks."""
_LOOKS = 2000  # descriptors in one look
_REMEMBERED = 1000
_NO_DATA = ("/dev/", "/proc/", "/sys/")


@dataclass(frozen=True)
class DataFile:
    name: str
    size: int


class DataFiles:
    """`open_bytes`: of those that were open at the last look."""

    def __init__(self) -> None:
        self.open_bytes = 0
        self._known: set[tuple[int, int]] = set()

    def look(self, pids: Iterable[int]) -> list[DataFile]:
        """Those that were not seen before."""
        found: dict[tuple[int, int], DataFile] = {}
        for link in islice(_links(pids), _LOOKS):
            with suppress(OSError):
                path = str(link.readlink())
                # the link's own mode tells how the file was opened (proc(5))
                if not path.startswith("/") or path.startswith(_NO_DATA) or link.lstat().st_mode & stat.S_IWUSR:
                    continue
                facts = link.stat()
                if stat.S_ISREG(facts.st_mode) and facts.st_size >= LARGE:
                    found[facts.st_dev, facts.st_ino] = DataFile(Path(path).name[:60], facts.st_size)
        self.open_bytes = sum(file.size for file in found.values())
        new = {key: file for key, file in found.items() if key not in self._known}
        if len(self._known) + len(new) > _REMEMBERED:
            return []
        self._known |= new.keys()
        return list(new.values())


def _links(pids: Iterable[int]) -> Iterator[Path]:
    for pid in pids:
        with suppress(OSError):
            yield from Path(f"/proc/{pid}/fd").iterdir()
