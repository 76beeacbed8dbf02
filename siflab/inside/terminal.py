r"""What a terminal would show of a stream: progress bars, which print ``\r`` and begin their line anew, are one line.

Understood are ``\r``, ``\b``, "cursor up" and "erase" (nested bars of tqdm, pip, rich) and the cursor's visibility;
colours stay as they are. All of it is linear in what is written, whatever is written. Standard library only."""

from __future__ import annotations

import re
import time

CONTROL = re.compile(r"\r|\n|\x08+|\x1b\[[0-9]{0,4}[AFK]|\x1b\[\?25[lh]", re.ASCII)
_ESCAPE = re.compile(r"\x1b\[[0-9;]{0,40}m", re.ASCII)
_UNFINISHED = re.compile(r"\x1b(?:\[\??[0-9]{0,4})?\Z", re.ASCII)


class _Row:
    """A line. What is being written to it lies over what was there before a ``\\r``, of which only what reaches further
    still shows: layers, each longer than the one over it."""

    __slots__ = ("began_anew", "layers", "left_at", "pieces", "weight")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.layers: list[tuple[int, str]] = []  # (visible length, text), the topmost last
        self.weight = 0  # characters held
        self.began_anew = False
        self.left_at = 0.0  # when the cursor went to the next line

    def write(self, text: str) -> None:
        self.pieces.append(text)
        self.weight += len(text)

    def begin_anew(self) -> None:
        self.began_anew = True
        if not self.pieces:
            return
        text = "".join(self.pieces)
        length = _visible(text)
        while self.layers and self.layers[-1][0] <= length:
            self.weight -= len(self.layers.pop()[1])
        self.layers.append((length, text))
        self.pieces = []

    def back(self, count: int) -> None:
        """Remove characters, as JupyterLab does."""
        while count and self.pieces:
            last = self.pieces.pop()
            self.weight -= len(last)
            if len(last) > count:
                self.write(last[:-count])
                return
            count -= len(last)

    def erase(self, all_of_it: bool) -> None:
        """What lies behind the cursor, or the whole line."""
        self.layers = []
        if all_of_it:
            self.pieces = []
        self.weight = sum(map(len, self.pieces))

    def text(self) -> str:
        """Without the spaces that a bar leaves where it was longer."""
        return self._shown().rstrip(" ") if self.began_anew else "".join(self.pieces)

    def _shown(self) -> str:
        shown = "".join(self.pieces)
        length, parts = _visible(shown), [shown]
        for its_length, text in reversed(self.layers):
            if its_length > length:
                parts.append(_behind(text, length))
                length = its_length
        return "".join(parts)


def _visible(text: str) -> int:
    return len(text) if "\x1b" not in text else len(_ESCAPE.sub("", text))


def _behind(text: str, visible: int) -> str:
    """What comes after so many visible characters, with the colour in which it begins."""
    if "\x1b" not in text:
        return text[visible:]
    at, colour = 0, ""
    for escape in _ESCAPE.finditer(text):
        between = escape.start() - at
        if visible < between:
            break
        visible -= between
        at, colour = escape.end(), colour + escape.group() if not escape.group().endswith("[0m") else ""
    return colour + text[at + visible :]


class Terminal:
    """Takes a stream piece by piece. The cursor can go up by `keep` lines; what is above is final."""

    def __init__(self, text: str = "", keep: int = 10) -> None:
        self._keep = keep
        self._final: list[str] = []
        self._rows = [_Row()]
        self._row = 0
        self._unfinished = ""
        self._final_size = 0
        if text:
            self.write(text)

    @property
    def size(self) -> int:
        """Characters held."""
        return self._final_size + sum(row.weight for row in self._rows)

    def write(self, text: str) -> None:
        if self._unfinished:
            text, self._unfinished = self._unfinished + text, ""
        if "\x1b" in text[-8:]:
            cut = _UNFINISHED.search(text, max(len(text) - 8, 0))
            if cut is not None:
                text, self._unfinished = text[: cut.start()], text[cut.start() :]
        if "\r" in text or "\x08" in text or "\x1b[" in text:
            self._controls(text)
        else:
            self._plain(text)

    def _plain(self, text: str) -> None:
        while "\n" in text and self._row < len(self._rows) - 1:
            line, _, text = text.partition("\n")
            self._rows[self._row].write(line)
            self._newline()
        if "\n" in text and self._rows[self._row].layers:
            line, _, text = text.partition("\n")
            self._rows[self._row].write(line)
            self._newline()
        lines = text.rsplit("\n", self._keep + 1)  # the first holds all that is final at once
        self._rows[self._row].write(lines[0])
        for line in lines[1:]:
            self._newline()
            self._rows[self._row].write(line)

    def _controls(self, text: str) -> None:
        at = 0
        for found in CONTROL.finditer(text):
            if found.start() > at:
                self._rows[self._row].write(text[at : found.start()])
            at = found.end()
            control = found.group()
            self._rows[self._row].began_anew |= control != "\n"
            if control == "\r":
                self._rows[self._row].begin_anew()
            elif control == "\n":
                self._newline()
            elif control[0] == "\x08":
                self._rows[self._row].back(len(control))
            elif control[-1] in "AF":
                self._row = max(self._row - int(control[2:-1] or 1), 0)
                self._rows[self._row].begin_anew()
            elif control[-1] == "K":
                self._rows[self._row].erase(control[2:-1] == "2")
        if at < len(text):
            self._rows[self._row].write(text[at:])

    def _newline(self) -> None:
        self._rows[self._row].left_at = time.monotonic()
        self._row += 1
        if self._row < len(self._rows):
            self._rows[self._row].begin_anew()
            return
        self._rows.append(_Row())
        if self._row > self._keep:
            self._finish(1)

    def _finish(self, count: int) -> None:
        for row in self._rows[:count]:
            line = row.text() + "\n"
            self._final.append(line)
            self._final_size += len(line)
        del self._rows[:count]
        self._row -= count

    def text(self) -> str:
        """All of it, as it is now."""
        final = "".join(self._final)
        self._final = [final]
        return final + self.open_text()

    def open_text(self) -> str:
        """What is not final."""
        return "\n".join(row.text() for row in self._rows) + self._unfinished

    def take_final(self, before: float = float("inf")) -> str:
        """The lines above the cursor which it left before that moment of the monotonic clock: they are final from now
        on, and forgotten."""
        count = 0
        while count < self._row and self._rows[count].left_at < before:
            count += 1
        self._finish(count)
        final = "".join(self._final)
        self._final, self._final_size = [], 0
        return final

    @property
    def line(self) -> str:
        """The line of the cursor."""
        return self._rows[self._row].text()

    @property
    def may_change(self) -> bool:
        """Whether anything that is shown may yet be overwritten."""
        return len(self._rows) > 1 or self._rows[0].began_anew
