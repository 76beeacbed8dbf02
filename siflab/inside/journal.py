r"""The journal, outputs.jsonl: what the kernel said, one record a line, written before anything is made of it.

A record is ``{"type": ..., "cell": index among all cells from 0, "at": ISO time}``. Its type is either the
``msg_type`` of a message on Jupyter's IOPub channel (stream, display_data, execute_input, clear_output, comm_msg,
...), with ``content`` as in the message, ``parent`` (the ``msg_id`` of the request that caused it) and, if any,
``buffers`` (base64); or a mark:

========== ===========================================================================================
@begin     the attempt begins: ``version``, ``run``, ``attempt``
@kernel    the kernel is ready: ``language_info``
@start     a cell is sent to the kernel
@done      the kernel has answered: ``status`` one of `notebook.CELL_STATES`
@skip      the cell has the tag ``skip-execution``
@spill     the cell's streams go on in ``logs/cell-NUMBER.txt``, from ``size`` bytes on, and not in here (`spill`)
@state     all outputs as they were at this point; what was before it is no longer in the journal
@end       nothing follows: ``status`` of the run, one of `result.EXIT_CODES`
========== ===========================================================================================

The journal is bounded: when it has grown to four times what the outputs are, and to `least` bytes (six times the limit
of `spill`), it is replaced by one that begins with ``@begin`` and ``@state``. A progress bar of a week, a display that
is cleared every second, or a widget that moves do not fill the disk.

A line may be torn where the writer was killed, or where the disk was full; a reader leaves it out and goes on.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from .attempt import now
from .saving import json_line, replace_file, write_all

VERSION = 1
LONG = 4096
"""Bytes of a message's content."""

Record = dict[str, Any]


class Journal:
    """Appends records. An error of the disk does not stop a run whose notebook is still in memory: it is noted."""

    def __init__(self, path: Path, least: int = 64_000_000) -> None:
        self.error: OSError | None = None
        self.lost = 0
        """Records that are not, or not whole, in the file."""
        self._torn = False
        self._path = path
        self._begin: Record | None = None
        self.size = 0
        """Bytes of the file, about."""
        self._least = self._bound = least
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def append(self, record: Record) -> None:
        data = _line(record)
        try:
            write_all(self._descriptor, b"\n" + data if self._torn else data)
            self._torn = False
            self.size += len(data)
        except OSError as error:
            self.error = error
            self.lost += 1
            self._torn = True

    def mark(self, kind: str, cell: int | None = None, **more: Any) -> Record:
        """Append one of the marks above (without its @) and return it."""
        record: Record = {"type": f"@{kind}", "at": now(), **({} if cell is None else {"cell": cell}), **more}
        self.append(record)
        self._begin = record if kind == "begin" else self._begin
        return record

    def shorten_if_due(self, state: Callable[[], dict[str, Any]], weight: Callable[[], int] = lambda: 0) -> None:
        """Begin it anew with `state()` when it has become long, also beside the `weight()` of the outputs in bytes.
        Whoever reads it has the old file or the new one."""
        if self.size < self._bound:
            return
        self._bound = max(self._bound, 4 * weight())
        if self.size < self._bound:
            return
        mark: Record = {"type": "@state", "at": now(), "state": state()}
        data = b"".join(json_line(record) for record in (self._begin, mark) if record is not None)
        self._bound = max(self._least, 4 * len(data))
        try:
            replace_file(self._path, data)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        except OSError:
            self._bound = 2 * self.size  # a full disk: the long one is as good
            return
        os.close(self._descriptor)
        self._descriptor, self._torn, self.size = descriptor, False, len(data)

    def sync(self) -> None:
        """Bring it to the disk, so that it outlives the node. May take long: call it in a thread."""
        try:
            os.fsync(self._descriptor)
        except OSError as error:
            self.error = error

    def close(self) -> None:
        self.sync()
        os.close(self._descriptor)


class Received(dict[str, Any]):
    """The content of a message, with the JSON in which it came."""

    raw: bytes


def unpack(data: bytes) -> Any:
    """A part of a message (`jupyter_client.session.Session.unpack`). What is long is kept as it came, so that the
    journal need not encode it again."""
    if len(data) < LONG:
        return json.loads(bytes(data).decode("utf-8", "replace"))
    raw = bytes(data)
    try:
        value = json.loads(raw.decode("utf-8"))
    except UnicodeDecodeError:
        return json.loads(raw.decode("utf-8", "replace"))
    if isinstance(value, dict) and b"\n" not in raw and b"\r" not in raw:
        value = Received(value)
        value.raw = raw
    return value


def _line(record: Record) -> bytes:
    content = record.get("content")
    if not isinstance(content, Received):
        return json_line(record)
    rest = json_line({key: value for key, value in record.items() if key != "content"})
    return rest[:-2] + b', "content": ' + content.raw + b"}\n"


def record_of(message: dict[str, Any], cell: int) -> Record:
    """The record of a message as `jupyter_client` gives it."""
    date, content = message["header"].get("date"), message["content"]
    if message["header"]["msg_type"] == "execute_input":
        content = {"execution_count": content.get("execution_count")}  # the code is in the notebook
    record: Record = {
        "type": message["header"]["msg_type"],
        "cell": cell,
        "at": date.astimezone().isoformat() if hasattr(date, "astimezone") else date or now(),
        "parent": message["parent_header"].get("msg_id"),
        "content": content,
    }
    if message.get("buffers"):
        record["buffers"] = [base64.b64encode(buffer).decode("ascii") for buffer in message["buffers"]]
    return record


def read_journal(path: Path) -> Iterator[Record | None]:
    """The records in order; None for a line that is torn. An absent journal has none."""
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            if not line.strip():
                continue
            try:
                record = json.loads(line)
            except ValueError:
                record = None
            yield record if isinstance(record, dict) and isinstance(record.get("type"), str) else None
