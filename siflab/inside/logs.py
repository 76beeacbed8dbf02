"""The two logs of an attempt: what cells print, and what the kernel's process writes past Jupyter."""

from __future__ import annotations

import codecs
import os
from datetime import datetime
from pathlib import Path

from .journal import Record
from .notebook import joined
from .result import ANSI
from .saving import write_all


class RunLog:
    """logs/run.log: the text of streams, errors and plain results as they come, for `tail -f`."""

    def __init__(self, path: Path, cells_total: int) -> None:
        self._total = cells_total
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._line_begun = False

    def write(self, text: str) -> None:
        """A disk that is full makes the log incomplete; the notebook has what is missing."""
        if text:
            self._line_begun = not text.endswith("\n")
            try:
                write_all(self._descriptor, text.encode("utf-8", "replace"))
            except OSError:
                pass

    def line(self, text: str) -> None:
        self.write(("\n" if self._line_begun else "") + text + "\n")

    def cell(self, number: int) -> None:
        """The mark before a cell."""
        self.line(f"──── [{number}/{self._total}] {datetime.now():%H:%M:%S} ────")

    def record(self, record: Record) -> None:
        """The text of a message, if it has one."""
        kind, content = record["type"], record["content"]
        if kind == "stream":
            self.write(joined(content.get("text", "")))
        elif kind == "error":
            self.line(ANSI.sub("", "\n".join(map(str, content.get("traceback") or [content.get("ename")]))))
        elif kind in ("execute_result", "display_data") and "text/plain" in (content.get("data") or {}):
            self.line(joined(content["data"]["text/plain"]))

    def close(self) -> None:
        os.close(self._descriptor)


class KernelLog:
    """logs/kernel.log: descriptors 1 and 2 of the kernel go straight to this file, and what comes is read from it.

    ipykernel can capture them itself through a pipe, and then hangs for ever when C code that holds the GIL prints
    more than the pipe holds (64 KiB)."""

    def __init__(self, path: Path) -> None:
        self.descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._offset = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def skip(self) -> None:
        """What the kernel said while it started belongs to no cell."""
        self._offset = os.fstat(self.descriptor).st_size

    def read(self, limit: int = 1 << 20) -> str:
        """What was added since the last call, `limit` bytes at most."""
        data = os.pread(self.descriptor, limit, self._offset)
        self._offset += len(data)
        return self._decoder.decode(data)

    def close(self) -> None:
        os.close(self.descriptor)
