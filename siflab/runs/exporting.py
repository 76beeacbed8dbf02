"""A run as one archive: what it was, what it did and what came of it, with an index that any browser shows."""

import io
import json
import os
import stat
import tarfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from siflab.errors import Conflict, FieldError, Internal, Invalid
from siflab.runs.evidence import ask_queue
from siflab.runs.export_index import render
from siflab.runs.folder import DATA, RunFolder, read_json
from siflab.runs.listing import look
from siflab.runs.place import place_of
from siflab.runs.provenance import looks_secret, provenance
from siflab.runs.viewer import Viewer
from siflab.text import Text

LOG_LIMIT = 2 << 20
"""Bytes of each log that are kept: its beginning and its end."""
_CUT = (".log", ".out", ".jsonl", ".txt")
_JOURNAL = "outputs.jsonl"
"""Whole, where an attempt left no result; else the executed notebook has all that is in it."""
_LEFT_OUT = frozenset({"runner.pyz", "status.json", "points-status.json"})
"""Made anew from the rest, or by Siflab itself."""


@dataclass(frozen=True)
class Exported:
    """`left_out` are the folders of data that are not in it, `cut` the logs of which the middle is missing. `secrets`
    are parameters whose names look secret: their values are in it, since they are in the request and in the
    notebook."""

    path: str
    size: int
    files: int
    left_out: tuple[str, ...]
    cut: tuple[str, ...]
    secrets: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "left_out": list(self.left_out), "cut": list(self.cut), "secrets": list(self.secrets)}


class _Archive(Protocol):
    def add(self, name: str, data: bytes, modified: float) -> None: ...
    def add_file(self, name: str, path: Path, facts: os.stat_result) -> None: ...
    def close(self) -> None: ...


def export(
    viewer: Viewer, run: str | Path, output: str | None = None, checkpoints: bool = False, outputs: bool = False
) -> Exported:
    """``NAME.tar.gz`` in the current folder, or `output` (``.tar.gz``, ``.tgz`` or ``.zip``). Raises NotFound, Invalid
    for another ending, Conflict when the file is there already, Internal (the disk); nothing is left of it then."""
    folder = place_of(viewer, run)
    path = Path(output or f"{folder.path.name}.tar.gz").absolute()
    kind = _kind(path)
    seen = look(viewer, [folder], ask_queue(viewer))[0][0]
    told = provenance(viewer, folder)
    with_data = [name for name, wanted in zip(DATA, (checkpoints, outputs, outputs), strict=True) if wanted]
    left_out: set[str] = set()
    cut: list[str] = []
    files = 0
    beside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if path.exists():
            raise FileExistsError(17, "it is there already", str(path))
        archive: _Archive = _Zip(beside) if kind == "zip" else _Tar(beside)
        try:
            base, names = folder.path.name, []
            for name, file, facts in _files(folder.path, with_data, left_out):
                names.append((name, facts.st_size))
                files += 1
                if name.endswith(_CUT) and not name.endswith(_JOURNAL) and facts.st_size > LOG_LIMIT:
                    cut.append(name)
                    archive.add(f"{base}/{name}", _both_ends(file, facts.st_size), facts.st_mtime)
                else:
                    archive.add_file(f"{base}/{name}", file, facts)
            text = json.dumps(told, ensure_ascii=True, indent=1).encode()
            archive.add(f"{base}/provenance.json", text + b"\n", time.time())
            page = render(seen, told, folder, names, sorted(left_out), cut)
            archive.add(f"{base}/index.html", page.encode("utf-8", "replace"), time.time())
        finally:
            archive.close()
        beside.rename(path)
    except FileExistsError as error:
        raise Conflict(
            Text(f"{path} is there already; give another name with -o", f"{path} 已存在；请用 -o 指定其他名称")
        ) from error
    except OSError as error:
        words = error.strerror or str(error)
        raise Internal(Text(f"{path} cannot be written ({words})", f"无法写入 {path}（{words}）")) from error
    finally:
        with suppress(OSError):
            beside.unlink()
    return Exported(str(path), path.stat().st_size, files + 2, tuple(sorted(left_out)), tuple(cut), _secrets(folder))


def _secrets(folder: RunFolder) -> tuple[str, ...]:
    values = (read_json(folder.request) or {}).get("parameters")
    points = (read_json(folder.points) or {}).get("points")
    told = [values, *(one.get("parameters") for one in (points if isinstance(points, list) else []))]
    names = {name for one in told if isinstance(one, dict) for name, value in one.items() if value not in (None, "")}
    return tuple(sorted(name for name in names if looks_secret(name)))


def _kind(path: Path) -> str:
    if path.name.endswith(".zip"):
        return "zip"
    if path.name.endswith((".tar.gz", ".tgz")):
        return "tar"
    message = Text("name it with .tar.gz, .tgz or .zip", "文件名须以 .tar.gz、.tgz 或 .zip 结尾")
    raise Invalid([FieldError("output", "unknown-ending", message)])


def _files(root: Path, with_data: list[str], left_out: set[str]) -> Iterator[tuple[str, Path, os.stat_result]]:
    """Ordinary files below the run folder, by name; no link is followed, but that of a data folder to scratch."""
    for name, path in sorted(_walk(root, "", with_data, left_out)):
        with suppress(OSError):
            facts = path.lstat()
            replayed = path.name == _JOURNAL and path.with_name("result.json").exists()
            if stat.S_ISREG(facts.st_mode) and not replayed:
                yield name, path, facts


def _walk(folder: Path, prefix: str, with_data: list[str], left_out: set[str]) -> Iterator[tuple[str, Path]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        name, at_place = f"{prefix}{entry.name}", prefix == "" or _is_point(prefix)
        if entry.name.startswith(".") or (prefix == "" and entry.name in _LEFT_OUT):
            continue
        is_data = at_place and entry.name in DATA
        if is_data and entry.name not in with_data:
            if _has_anything(Path(entry.path)):
                left_out.add(entry.name)
            continue
        if entry.is_dir(follow_symlinks=is_data):
            yield from _walk(Path(entry.path), f"{name}/", with_data, left_out)
        else:
            yield name, Path(entry.path)


def _is_point(prefix: str) -> bool:
    parts = prefix.split("/")
    return len(parts) == 3 and parts[0] == "points" and parts[1].isdigit()


def _has_anything(folder: Path) -> bool:
    try:
        return any(folder.iterdir())
    except OSError:
        return False


def _both_ends(path: Path, size: int) -> bytes:
    """The first quarter and the last three of what is kept."""
    first = LOG_LIMIT // 4
    last = LOG_LIMIT - first
    with path.open("rb") as stream:
        head = stream.read(first)
        stream.seek(size - last)
        tail = stream.read(last)
    missing = f"\n... siflab export left out {size - first - last} bytes here ...\n".encode()
    return head.rpartition(b"\n")[0] + missing + tail.partition(b"\n")[2]


def _private(path: Path) -> BinaryIO:
    """A new file that nobody else reads, as the run folder is."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


class _Tar:
    def __init__(self, path: Path) -> None:
        self._stream = _private(path)
        self._tar = tarfile.open(fileobj=self._stream, mode="w:gz", compresslevel=6)  # noqa: SIM115 (see close)

    def add(self, name: str, data: bytes, modified: float) -> None:
        self._tar.addfile(self._info(name, len(data), modified, 0o644), io.BytesIO(data))

    def add_file(self, name: str, path: Path, facts: os.stat_result) -> None:
        """As long as it was when it was looked at, whatever is written to it meanwhile."""
        with path.open("rb") as stream:
            data = _Padded(stream, facts.st_size)
            mode = 0o755 if facts.st_mode & 0o100 else 0o644
            self._tar.addfile(self._info(name, facts.st_size, facts.st_mtime, mode), data)  # type: ignore[arg-type]

    def _info(self, name: str, size: int, modified: float, mode: int) -> tarfile.TarInfo:
        info = tarfile.TarInfo(name)
        info.size, info.mtime, info.mode = size, int(modified), mode
        return info

    def close(self) -> None:
        with self._stream:
            self._tar.close()


class _Padded:
    """A file that was cut meanwhile is filled up, since its length is written before it."""

    def __init__(self, stream: Any, size: int) -> None:
        self._stream, self._left = stream, size

    def read(self, size: int) -> bytes:
        wanted = min(size, self._left)
        data: bytes = self._stream.read(wanted)
        data += b"\0" * (wanted - len(data))
        self._left -= wanted
        return data


class _Zip:
    def __init__(self, path: Path) -> None:
        self._stream = _private(path)
        self._zip = zipfile.ZipFile(self._stream, "w", zipfile.ZIP_DEFLATED)

    def add(self, name: str, data: bytes, modified: float) -> None:
        self._zip.writestr(self._info(name, modified, 0o644), data)

    def add_file(self, name: str, path: Path, facts: os.stat_result) -> None:
        info = self._info(name, facts.st_mtime, 0o755 if facts.st_mode & 0o100 else 0o644)
        with path.open("rb") as stream, self._zip.open(info, "w", force_zip64=facts.st_size >= 1 << 31) as target:
            left = facts.st_size
            while left > 0 and (piece := stream.read(min(1 << 20, left))):
                target.write(piece)
                left -= len(piece)

    def _info(self, name: str, modified: float, mode: int) -> zipfile.ZipInfo:
        date = max(time.localtime(modified)[:6], (1980, 1, 1, 0, 0, 0))
        info = zipfile.ZipInfo(name, date)
        info.external_attr = (stat.S_IFREG | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        return info

    def close(self) -> None:
        with self._stream:
            self._zip.close()
