"""The file of samples: appended to, a whole line at a time, and bounded."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from .saving import write_all

LIMIT = 20_000_000
"""Bytes after which nothing more is written."""
_AIMED_AT = 12_000_000
"""Bytes that a run of a month comes to."""
_MONTH = 8
"""Of samples whose interval is a share 1/k of the time that has passed there are k in the beginning, at the shortest
interval, and k ln(T/t) more until T: about 8 k for a month."""


class UsageFile:
    """Made when the first line is written. After an error (a full disk) it is left alone: the space that is left is for
    the run's last words."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None
        self._given_up = False
        self._bytes = self._samples = 0

    @property
    def is_new(self) -> bool:
        return self._descriptor is None and not self._given_up

    def interval(self, elapsed: float) -> float:
        """Seconds that a sample should stand for, `elapsed` after the beginning."""
        size = self._bytes / self._samples if self._samples else 300.0
        return elapsed / max(50.0, _AIMED_AT / _MONTH / size)

    def write(self, lines: Sequence[dict[str, Any]]) -> None:
        if self._given_up or not lines:
            return
        data = b"".join(json.dumps(line, separators=(",", ":")).encode() + b"\n" for line in lines)
        if self._bytes + len(data) > LIMIT:
            self._given_up = True
            return
        try:
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._descriptor = os.open(self.path, flags, 0o600)
            write_all(self._descriptor, data)
        except OSError:
            self._given_up = True
        self._bytes += len(data)
        self._samples += any("d" in line for line in lines)

    def close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor, self._given_up = None, True
