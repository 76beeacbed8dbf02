"""Reading a run's log, a piece at a time."""

import os
from dataclasses import dataclass
from pathlib import Path

from siflab.errors import NotFound
from siflab.runs.folder import RunFolder
from siflab.runs.listing import folder_of, has_ended
from siflab.runs.viewer import Viewer
from siflab.text import Text

PIECE = 256 * 1024
"""Bytes of a piece at most."""


@dataclass(frozen=True)
class LogPiece:
    """The bytes from `offset` up to `next_offset` of a log of `size` bytes, as text; a piece never ends within a
    character. `complete`: the run has ended and nothing follows."""

    text: str
    offset: int
    next_offset: int
    size: int
    complete: bool

    def as_dict(self) -> dict[str, object]:
        return dict(vars(self))


def read_log(viewer: Viewer, run_id: str, attempt: int | None = None, offset: int = 0, limit: int = PIECE) -> LogPiece:
    """A piece of the log of an attempt, the newest if None; a negative `offset` counts from the end. Before the first
    attempt there is nothing, unless the job has ended: then what Slurm said stands for it. Raises NotFound."""
    folder = folder_of(viewer, run_id)
    numbers = folder.attempt_numbers()
    if attempt is not None and attempt not in numbers:
        raise NotFound(
            Text(
                f"the run {run_id} has no attempt {attempt}; it has {len(numbers)}",
                f"运行 {run_id} 没有第 {attempt} 次尝试；共 {len(numbers)} 次",
            )
        )
    over = attempt is not None and attempt != numbers[-1]
    if not over and numbers:
        piece = _piece(_log_file(folder, numbers, attempt, False), offset, limit, False)
        if piece.next_offset < piece.size and piece.text:
            return piece  # more follows, so that it does not matter whether the run has ended: Slurm is not asked
    ended = over or has_ended(viewer, folder)  # before it is read: what comes in between is in the next piece
    return _piece(_log_file(folder, numbers, attempt, ended), offset, limit, ended)


def _log_file(folder: RunFolder, numbers: list[int], attempt: int | None, ended: bool) -> Path | None:
    if numbers:
        return folder.attempt(attempt or numbers[-1]).run_log
    return folder.job_log() if ended else None


def _piece(path: Path | None, offset: int, limit: int, ended: bool) -> LogPiece:
    data, size = b"", 0
    try:
        if path is not None:
            with path.open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                offset = max(0, size + offset) if offset < 0 else min(offset, size)
                stream.seek(offset)
                data = stream.read(max(4, min(limit, PIECE)))
    except OSError:
        size = 0
    if not data:
        offset = max(0, min(offset, size))
    at_end = offset + len(data) >= size
    data = _whole_characters(data, keep_rest=at_end and ended)
    next_offset = offset + len(data)
    return LogPiece(data.decode("utf-8", "replace"), offset, next_offset, size, ended and next_offset >= size)


def _whole_characters(data: bytes, keep_rest: bool) -> bytes:
    """Without the first bytes of a character whose last are still to come (UTF-8: at most three)."""
    if keep_rest:
        return data
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte < 0x80:
            return data
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data if back >= length else data[:-back]
    return data
