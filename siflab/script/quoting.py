"""The one way in which text that is not ours gets into a script."""

import shlex
from collections.abc import Iterable


def quoted(value: str) -> str:
    """One word of sh. Raises ValueError for what no word of a script can carry."""
    if "\0" in value:
        raise ValueError("a NUL cannot be in a script")
    return shlex.quote(value)


def command_line(argv: Iterable[str]) -> str:
    """An argument list as words of sh."""
    return " ".join(quoted(word) for word in argv)
