"""The two logs of an attempt: what cells print, and what the kernel's process writes past Jupyter."""

from __future__ import annotations

import codecs
import os
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from .journal import Record
from .notebook import joined
from .result import ANSI
from .saving import write_all
from .terminal import CONTROL, Terminal

HELD_SECONDS = 60.0
"""After which a progress bar that still moves is written as it is then."""
SETTLED_SECONDS = 0.3
"""After which the cursor is not expected to come back to a line (nested bars go down and up in one step)."""


class RunLog:
    """logs/run.log: the text of streams, errors and plain results as they come, for `tail -f`. Of a line that begins
    anew again and again (a progress bar) the last state is written, when it is left."""

    def __init__(self, path: Path, cells_total: int) -> None:
        self._total = cells_total
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._terminal = Terminal()
        self._line_begun = False  # what is in the file does not end with a line's end
        self._stream = ""
        self._wrote_at = time.monotonic()

    def write(self, text: str, stream: str = "") -> None:
        """A disk that is full makes the log incomplete; the notebook has what is missing."""
        text = text.replace("\r\n", "\n")
        if stream != self._stream and self._terminal.may_change:
            self._leave_line()
        self._stream = stream
        if not self._terminal.may_change:
            plain = _plain_part(text)
            self._write_plain(text[:plain])
            text = text[plain:]
        if text:
            self._terminal.write(text)
            self._put_settled()

    def _write_plain(self, text: str) -> None:
        if "\n" in text:
            self._terminal = Terminal(text[text.rfind("\n") + 1 :])
        else:
            self._terminal.write(text)
        self._put(text)

    def _put_settled(self) -> None:
        self._put_lines(self._terminal.take_final(time.monotonic() - SETTLED_SECONDS))
        if not self._terminal.may_change:
            self._put_lines(self._terminal.line)

    def _put_lines(self, text: str) -> None:
        """On a line of their own."""
        if text:
            self._put(("\n" if self._line_begun else "") + text)

    def _put(self, text: str) -> None:
        if text:
            self._line_begun = not text.endswith("\n")
            self._wrote_at = time.monotonic()
            with suppress(OSError):
                write_all(self._descriptor, text.encode("utf-8", "replace"))

    def _leave_line(self) -> None:
        if self._terminal.may_change:
            held = (self._terminal.take_final() + self._terminal.open_text()).rstrip("\n")
            self._put_lines(held + "\n" if held else "")
        self._terminal = Terminal()

    def tick(self) -> None:
        """To be called now and then: a bar that has moved for long is shown."""
        if self._terminal.may_change:
            self._put_settled()
        if self._terminal.may_change and time.monotonic() - self._wrote_at > HELD_SECONDS:
            self._put_lines(self._terminal.line + "\n")

    def line(self, text: str) -> None:
        self._leave_line()
        self._put_lines(text + "\n")

    def cell(self, number: int) -> None:
        """The mark before a cell."""
        self.line(f"──── [{number}/{self._total}] {datetime.now():%H:%M:%S} ────")

    def record(self, record: Record) -> None:
        """The text of a message, if it has one."""
        kind, content = record["type"], record["content"]
        if kind == "stream":
            self.write(joined(content.get("text", "")), str(content.get("name", "")))
        elif kind == "error":
            self.line(ANSI.sub("", "\n".join(map(str, content.get("traceback") or [content.get("ename")]))))
        elif kind in ("execute_result", "display_data") and "text/plain" in (content.get("data") or {}):
            self.line(joined(content["data"]["text/plain"]))

    def close(self) -> None:
        self._leave_line()
        os.close(self._descriptor)


def _plain_part(text: str) -> int:
    """How much of it, in whole lines, comes before anything that moves a terminal's cursor."""
    if "\r" not in text and "\x08" not in text and "\x1b[" not in text:
        return len(text)
    for control in CONTROL.finditer(text):
        if control.group() != "\n":
            return text.rfind("\n", 0, control.start()) + 1
    return len(text)


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
