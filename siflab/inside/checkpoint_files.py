r"""The files of `checkpoint`: whole or absent, and known to be whole.

``step-0000000010.ckpt`` is what ``torch.save`` or pickle wrote, and behind it one line, the seal:
``\nsiflab-checkpoint 1 KIND SIZE CRC32\n`` with the kind of content ("plain": tensors and plain values; "any": what
pickle can hold), the bytes before the seal and their CRC-32. Both readers stop before it, so that ``torch.load`` opens
the file as it is. ``step-0000000010.rank-3.ckpt`` holds what belongs to one rank of several. Standard library only."""

from __future__ import annotations

import io
import os
import re
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

_NAME = re.compile(r"step-([0-9]{10,})\.ckpt", re.ASCII)
_SEAL = re.compile(rb"\nsiflab-checkpoint 1 (plain|any\.\.) ([0-9]{20}) ([0-9a-f]{8})\n")
_SEAL_BYTES = len(b"\nsiflab-checkpoint 1 plain 00000000000000000000 00000000\n")
_BLOCK = 1 << 20


class Torn(Exception):
    """The file is not whole, or was not written by `write`; the message says what is wrong."""


def folder() -> Path:
    """$CHECKPOINT_DIR, made if it is not there; ``./checkpoints`` where it is not set."""
    path = Path(os.environ.get("CHECKPOINT_DIR") or "checkpoints")
    path.mkdir(parents=True, exist_ok=True)
    return path


def saved() -> list[Path]:
    """The checkpoints that are there, the oldest step first."""
    return sorted((path for path in folder().iterdir() if _NAME.fullmatch(path.name)), key=step_of)


def step_of(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    return int(found.group(1)) if found else -1


def path_of(step: int) -> Path:
    return folder() / f"step-{step:010d}.ckpt"


def rank_path(path: Path, rank: int) -> Path:
    """What belongs to one rank, beside the checkpoint `path`."""
    return path.with_name(f"{path.stem}.rank-{rank}.ckpt")


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """A path to write to; it becomes `path`, as a whole and on the disk, when the block ends without an error."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{socket.gethostname()}.{os.getpid()}.tmp")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    with suppress(OSError):
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class _Summing(io.RawIOBase):
    """Passes on what is written, and sums it up."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.size = 0
        self.crc = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.crc = zlib.crc32(data, self.crc)
        self.size += memoryview(data).nbytes
        self.file.write(data)
        return memoryview(data).nbytes


def write(path: Path, plain: bool, write_content: Callable[[Any], object]) -> None:
    """Replace `path` by what `write_content(file)` writes, sealed. Raises OSError and what `write_content` raises;
    then the old file is as it was."""
    with atomic(path) as beside, beside.open("wb") as file:
        summing = _Summing(file)
        write_content(summing)
        kind = b"plain" if plain else b"any.."
        file.write(b"\nsiflab-checkpoint 1 %s %020d %08x\n" % (kind, summing.size, summing.crc))


def check(path: Path) -> bool:
    """Whether the content is plain. Raises Torn, OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END) - _SEAL_BYTES
        if size < 0:
            raise Torn("it has no seal: its writer did not finish")
        file.seek(size)
        seal = _SEAL.fullmatch(file.read())
        if seal is None:
            raise Torn("it has no seal: its writer did not finish")
        if int(seal.group(2)) != size:
            raise Torn(f"it has {size} bytes of {int(seal.group(2))}")
        file.seek(0)
        crc, left = 0, size
        while left:
            block = file.read(min(_BLOCK, left))
            if not block:
                raise Torn("it became shorter while it was read")
            crc, left = zlib.crc32(block, crc), left - len(block)
    if crc != int(seal.group(3), 16):
        raise Torn("its bytes are not those that were written (CRC-32)")
    return seal.group(1) == b"plain"


def prune(keep: int) -> list[Path]:
    """Remove all but the newest `keep` checkpoints, with their ranks' files; what was removed."""
    removed = saved()[: -max(keep, 1)]
    for path in removed:
        for each in [*path.parent.glob(f"{path.stem}.rank-*.ckpt"), path]:
            with suppress(OSError):
                each.unlink()
    return removed


def sweep(rank: int | None) -> None:
    """Remove what a process that was killed while it wrote left half done: of the checkpoints, or of a rank's files
    (each has one writer at a time)."""
    pattern = ".step-*.tmp" if rank is None else f".step-*.rank-{rank}.ckpt.*.tmp"
    for path in folder().glob(pattern):
        if rank is not None or ".rank-" not in path.name:
            with suppress(OSError):
                path.unlink()
