"""#SBATCH lines: how sbatch reads a value in them.

sbatch splits such a line at blanks and honours quotation marks and backslashes, but no shell does: a `$` is only a `$`
(sbatch(1); slurm's `_get_next_opt`, tried on 22.05). In a file name pattern a `%` begins a replacement symbol; `%%` is
the sign itself.
"""

import re
from collections.abc import Iterable

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./~-]*", re.ASCII)


def directive(name: str, value: str | int | None = None) -> str:
    """One line, e.g. ``#SBATCH --chdir="/home/user1/my runs"``. Raises ValueError for what no line can carry."""
    if value is None:
        return f"#SBATCH --{name}"
    return f"#SBATCH --{name}={directive_word(str(value))}"


def directive_word(value: str) -> str:
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise ValueError(f"a control character cannot be in an #SBATCH line: {value!r}")
    if _PLAIN.fullmatch(value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def pattern(path: str) -> str:
    """A path as a file name pattern that means just this path."""
    return path.replace("%", "%%")


def options_as_directives(options: Iterable[str]) -> list[str]:
    """``--gres=gpu:a100:2`` and the like as lines."""
    lines = []
    for option in options:
        name, _, value = option.removeprefix("--").partition("=")
        lines.append(directive(name, value))
    return lines
