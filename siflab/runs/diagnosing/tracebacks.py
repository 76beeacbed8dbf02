"""The exceptions in a log: Python's tracebacks and IPython's, of one process or of ranks that are marked.

Only what a traceback ends with counts, so that source lines and comments that quote an error are none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from siflab.inside.result import ANSI

_MARK = re.compile(r"\[(?:rank|default)(\d{1,6})\]: ?", re.ASCII)
"""torch's of a rank (``[rank1]: ``), and torchrun's of a local rank (``[default1]:``)."""
_PYTHON = "Traceback (most recent call last):"
_IPYTHON = re.compile(r"(\w{1,120}) {1,200}Traceback \(most recent call last\)")
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,200})(?:: ?(.*))?", re.S)
_FRAME = re.compile(r' {2}File "([^"\n]{1,1000})", line (\d{1,9})', re.ASCII)
_CHAINED = (
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_LEVELS = frozenset({"DEBUG", "INFO", "WARNING", "WARN", "ERROR", "CRITICAL", "FATAL", "NOTE"})
_LINE = 2000
_NOISE = 40


@dataclass(frozen=True)
class Raised:
    """An exception that a traceback ends with: `name` with its module, where Python prints it. `chained`: it was raised
    while the one before was handled. `frames` are (file, line), the innermost last."""

    name: str
    text: str
    rank: int | None = None
    chained: bool = False
    frames: tuple[tuple[str, int], ...] = ()

    @property
    def short_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def line(self) -> str:
        """As it stands in the log."""
        return f"{self.name}: {self.text}" if self.text else self.name


@dataclass
class _Open:
    """A traceback that is being read."""

    expected: str  # the exception's name, where IPython says it first
    chained: bool
    frames: list[tuple[str, int]] = field(default_factory=list)
    noise: int = 0


def lines_of(text: str) -> Iterator[tuple[int | None, str]]:
    """(rank, line), without colours and marks."""
    for raw in text.split("\n"):
        line = ANSI.sub("", raw[:_LINE]).rstrip("\r")
        mark = _MARK.match(line)
        yield (int(mark[1]), line[mark.end() :]) if mark else (None, line)


def read_raised(text: str) -> list[Raised]:
    """In the order in which their tracebacks end. What is begun and not ended is left out."""
    found: list[Raised] = []
    opened: dict[int | None, _Open] = {}
    chained: set[int | None] = set()
    for rank, line in lines_of(text):
        begun = _begun(line)
        if begun is not None:
            is_chained = rank in chained or line.startswith("Original ")
            opened[rank] = _Open(begun, is_chained)
            chained.discard(rank)
        elif line.strip() in _CHAINED:
            chained.add(rank)
        elif rank in opened:
            raised = _ended(opened[rank], line, rank)
            if raised is not None:
                found.append(raised)
            if raised is not None or opened[rank].noise > _NOISE:
                del opened[rank]
    return found


def _begun(line: str) -> str | None:
    if line.endswith(_PYTHON) and line.removesuffix(_PYTHON).strip() in ("", "Original"):
        return ""
    match = _IPYTHON.fullmatch(line)
    return match[1] if match else None


def _ended(traceback: _Open, line: str, rank: int | None) -> Raised | None:
    if not line or line[0] in " \t-":
        frame = _FRAME.match(line)
        if frame:
            traceback.frames.append((frame[1], int(frame[2])))
        return None
    match = _RAISED.fullmatch(line)
    if match and match[1] not in _LEVELS and traceback.expected in ("", match[1].rpartition(".")[2]):
        return Raised(match[1], (match[2] or "").strip(), rank, traceback.chained, tuple(traceback.frames[-200:]))
    traceback.noise += not traceback.expected  # frames of IPython begin at the margin
    return None


def chains(raised: list[Raised]) -> list[list[Raised]]:
    """Those that belong together: one was raised while another was handled, in the same rank."""
    found: list[list[Raised]] = []
    newest: dict[int | None, list[Raised]] = {}
    for one in raised:
        if one.chained and one.rank in newest:
            newest[one.rank].append(one)
        else:
            newest[one.rank] = [one]
            found.append(newest[one.rank])
    return found
