"""The output of a cell that prints more than a notebook should hold: it goes on in a file, and the notebook has its
beginning, its end and a link.

From then on the file is the journal of that text: it is written as the text comes, and who replays the journal reads
the end of it. Standard library only."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .saving import write_all
from .terminal import Terminal

LIMIT = 10_000_000
"""Characters of streams that a cell may have in the notebook (``output_limit`` in request.json)."""
EXCERPT = 200_000
"""Characters of the beginning, and of the end, that stay in the notebook then."""


def limit_of(request: dict[str, Any]) -> int:
    asked = request.get("output_limit")
    return asked if isinstance(asked, int) and not isinstance(asked, bool) and asked > 0 else LIMIT


def relative_path(number: int) -> str:
    """Of the file for the code cell `number`, from the attempt's folder."""
    return f"logs/cell-{number}.txt"


class Spills:
    """The files of one attempt, for its one writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.error: OSError | None = None
        """Why text was lost."""
        self._files: dict[int, int] = {}  # number of a cell -> descriptor

    def write(self, number: int, text: str) -> None:
        try:
            if number not in self._files:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
                self._files[number] = os.open(self.folder / relative_path(number), flags, 0o644)
            write_all(self._files[number], text.encode("utf-8", "replace"))
        except OSError as error:
            self.error = error

    def sync(self) -> None:
        """Bring them to the disk. May take long: call it in a thread."""
        for descriptor in list(self._files.values()):
            try:
                os.fsync(descriptor)
            except OSError as error:
                self.error = error

    def close(self) -> None:
        self.sync()
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files = {}


def note(number: int, limit: int) -> dict[str, Any]:
    """The output that stands between the beginning and the end."""
    path = relative_path(number)
    size = f"{limit / 1e6:g} MB"
    en = f"This cell printed more than {size}. All of it is in [{path}]({path}); here are its beginning and its end."
    zh = f"此单元格的输出超过 {size}。完整内容见 [{path}]({path})；此处只保留开头和结尾。"
    plain = f"{en}\n{zh}".replace(f"[{path}]({path})", path)
    data = {"text/markdown": f"**{en}**\n\n**{zh}**", "text/plain": plain}
    return {"output_type": "display_data", "metadata": {"siflab": {"file": path}}, "data": data}


def beginning(text: str, limit: int) -> str:
    """Whole lines, where there are any."""
    cut = text[: min(EXCERPT, limit // 2)]
    return cut[: cut.rfind("\n") + 1] or cut


def size_of(path: Path | None) -> int:
    """In bytes; -1 where there is none."""
    try:
        return path.stat().st_size if path is not None else -1
    except OSError:
        return -1


def end(path: Path, limit: int) -> str:
    """What a terminal shows of the end of the file; empty where it cannot be read."""
    count = min(EXCERPT, limit // 2)
    try:
        with path.open("rb") as file:
            start = max(file.seek(0, os.SEEK_END) - count, 0)
            file.seek(start)
            text = file.read(count).decode("utf-8", "ignore")
    except OSError:
        return ""
    if start:
        text = text[text.find("\n") + 1 :]
    return Terminal(text).text()
