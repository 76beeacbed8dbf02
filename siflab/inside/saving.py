"""Files that are whole at every instant, and a notebook that is saved as often as its size allows.

A file is written beside its name, brought to the disk and renamed over it: whoever is killed at any moment leaves the
old file or the new one. A disk that is full takes neither: then the reserve is given up, so that the run's last words
fit."""

from __future__ import annotations

import codecs
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

RESERVE_BYTES = 1 << 20
INTERVAL = 2.0
"""Seconds between two saves of the notebook at least."""
SHARE = 20
"""And this many times what the last save took, and what the next one is expected to, so that saving costs under 5 %
however large the notebook grows; the journal has what came since."""
BYTES_A_SECOND = 200e6
"""That a save writes, before anything is known; on a slower file system the last save counts."""


def _replacement(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "?" * (error.end - error.start), error.end


def _json_escape(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(f"\\u{ord(c):04x}" for c in error.object[error.start : error.end]), error.end


codecs.register_error("siflab.question", _replacement)
codecs.register_error("siflab.escape", _json_escape)


def notebook_bytes(notebook: dict[str, Any]) -> bytes:
    """A notebook as Jupyter writes it (but for the splitting of texts into lines, which the format leaves free).

    A lone surrogate, which Python prints without complaint, is no UTF-8 and becomes a question mark: Jupyter could
    open such a notebook, but not save it again. NaN and infinity, which no browser reads, become their names."""
    try:
        text = json.dumps(notebook, ensure_ascii=False, indent=1, allow_nan=False)
    except ValueError:
        text = json.dumps(_without_nan(notebook), ensure_ascii=False, indent=1)
    return (text + "\n").encode("utf-8", "siflab.question")


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(item) for item in value]
    return value


def json_line(record: dict[str, Any]) -> bytes:
    """One line of JSON; what is no UTF-8 is kept as JSON's escape."""
    return (json.dumps(record, ensure_ascii=False, default=str) + "\n").encode("utf-8", "siflab.escape")


def write_all(descriptor: int, data: bytes) -> None:
    """Raises OSError when not all of it could be written."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def replace_file(path: Path, data: bytes, sync: bool = True) -> None:
    """Replace a file atomically. After an error (OSError, such as ENOSPC) the old file is as it was, and nothing is
    left."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            write_all(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def replace_json(path: Path, value: dict[str, Any]) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1, default=str)
    replace_file(path, (text + "\n").encode("utf-8", "siflab.question"), sync=False)


class Reserve:
    """Space held on the disk for the end of the run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def take(self) -> None:
        """Raises OSError: the disk is full before the run has begun."""
        replace_file(self.path, b"\0" * RESERVE_BYTES, sync=False)

    def give_up(self) -> None:
        with suppress(OSError):
            self.path.unlink()


class Saver:
    """Saves one notebook: `settle` brings it up to date before each save."""

    def __init__(
        self,
        path: Path,
        notebook: dict[str, Any],
        settle: Callable[[], None],
        reserve: Reserve,
        weight: Callable[[], int] = lambda: 0,
    ) -> None:
        """`weight`: about the bytes that a save would write now."""
        self.path = path
        self.notebook = notebook
        self.settle = settle
        self.reserve = reserve
        self.weight = weight
        self.error: OSError | None = None
        """Why the last save failed; None after one that succeeded."""
        self.saves = 0
        self._took = 0.0
        self._at = float("-inf")

    def save_if_due(self) -> None:
        since = time.monotonic() - self._at
        if since >= max(INTERVAL, SHARE * self._took) and since >= SHARE * self.weight() / BYTES_A_SECOND:
            self.save()

    def save(self) -> bool:
        """Save now; False, with the reason in `error`, when the disk does not take it. The run goes on: what is in
        memory is saved as soon as there is space again."""
        began = time.monotonic()
        try:
            self.settle()
            replace_file(self.path, notebook_bytes(self.notebook))
            self.error = None
            self.saves += 1
        except OSError as error:
            self.error = error
            self.reserve.give_up()
        self._at = time.monotonic()
        self._took = self._at - began
        return self.error is None

    def save_last(self) -> bool:
        """The last save, with the reserve's space if that is what it needs."""
        return self.save() or self.save()
