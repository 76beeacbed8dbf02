"""What is printed: in the reader's language, in columns that line up with wide characters too."""

import json
import sys
import unicodedata
from collections.abc import Sequence
from typing import Any

from siflab.text import Text, terminal_language


def width(text: str) -> int:
    """Columns of a terminal that a text takes (Unicode TR 11: East Asian wide and full-width characters take two)."""
    columns = 0
    for character in text:
        if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
            continue
        columns += 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
    return columns


def shortened(text: str, columns: int) -> str:
    """At most so many columns, with an ellipsis where something is left out."""
    if width(text) <= columns:
        return text
    kept, used = [], 0
    for character in text:
        used += width(character)
        if used > columns - 1:
            break
        kept.append(character)
    return "".join(kept) + "…"


def harmless(text: str) -> str:
    """A name as one line: control characters, which a terminal would obey, become question marks."""
    return "".join(character if character.isprintable() else "?" for character in text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], limits: Sequence[int]) -> str:
    """Lines of columns two blanks apart; `limits` are the widest that each column may become, 0: as wide as it is."""
    cells = [
        [shortened(harmless(cell), limit) if limit else harmless(cell) for cell, limit in zip(row, limits, strict=True)]
        for row in (header, *rows)
    ]
    widths = [max(width(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for row in cells:
        padded = [cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def say(message: Text | str) -> None:
    print(in_words(message), flush=True)


def warn(message: Text | str) -> None:
    print(in_words(message), file=sys.stderr, flush=True)


def in_words(message: Text | str) -> str:
    return message.to(terminal_language()) if isinstance(message, Text) else message


def pick(en: str, zh: str) -> str:
    """One of two texts, by the reader's language."""
    return Text(en, zh).to(terminal_language())


def print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=not _unicode_output(), indent=2), flush=True)


def _unicode_output() -> bool:
    return "utf" in (sys.stdout.encoding or "").lower()
