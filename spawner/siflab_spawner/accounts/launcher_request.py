"""The spawner's command lines as requests to the launcher, which takes no command lines: six commands with values."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

_FIXED = {"parsable", "export=ALL"}  # the launcher always gives these
_JOB = re.compile(r"\d{1,10}", re.ASCII)


class NoSuchCommand(ValueError):
    """Nothing of this kind is done as the user."""


def request_of(argv: Sequence[str], stdin: str | None) -> dict[str, Any]:
    """`command` and its own keys (see launcher/siflab-launcher). Raises NoSuchCommand."""
    words = list(argv[1:])
    if argv[0] == "sbatch":
        return _sbatch(words, stdin)
    if argv[0] == "scancel":
        return _scancel(words)
    if argv[0] in ("squeue", "scontrol", "sacct"):
        return _queue(argv[0], words)
    raise NoSuchCommand(argv[0])


def _sbatch(words: list[str], stdin: str | None) -> dict[str, Any]:
    options: dict[str, str | bool] = {}
    command = "submit"
    for word in words:
        if not word.startswith("--"):
            raise NoSuchCommand(f"sbatch {word}")
        name, equals, value = word[2:].partition("=")
        if name == "test-only":
            command = "estimate"
        elif word[2:] not in _FIXED:
            options[name] = value if equals else True
    return {"command": command, "options": options, "script": stdin or "#!/bin/sh\n"}


def _scancel(words: list[str]) -> dict[str, Any]:
    request: dict[str, Any] = {"command": "cancel", "jobs": [], "signal": None, "flags": []}
    cluster = ""
    for name, value in _pairs(words, {"signal", "clusters"}):
        if not name:
            request["jobs"].append(value)
        elif name == "signal":
            request["signal"] = value
        elif name == "clusters":
            cluster = f";{value}"
        elif name in ("batch", "full"):
            request["flags"].append(name)
        else:
            raise NoSuchCommand(f"scancel --{name}")
    request["jobs"] = [job if ";" in job else job + cluster for job in request["jobs"]]
    return request


def _queue(tool: str, words: list[str]) -> dict[str, Any]:
    request: dict[str, Any] = {"command": "queue", "tool": tool, "fields": [], "jobs": [], "clusters": None}
    plain = []
    for name, value in _pairs(words, {"format", "jobs", "user", "clusters"}):
        if name == "format":
            request["fields"] = value.split("\x1f" if tool == "squeue" else ",")
        elif name == "jobs":
            request["jobs"] = value.split(",")
        elif name == "clusters":
            request["clusters"] = value
        elif not name:
            plain.append(value)
        elif name not in ("user", "noheader", "states", "array", "parsable2", "delimiter", "oneliner"):
            raise NoSuchCommand(f"{tool} --{name}")
    if tool == "scontrol":
        if plain[:2] != ["show", "job"] or not all(_JOB.fullmatch(word) for word in plain[2:]):
            raise NoSuchCommand(f"scontrol {' '.join(plain)}")
        request["jobs"] = plain[2:]
    elif plain:
        raise NoSuchCommand(f"{tool} {' '.join(plain)}")
    return request


def _pairs(words: list[str], with_value: set[str]) -> Iterator[tuple[str, str]]:
    """(option, value); the option is empty for a plain word."""
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            yield "", word
            continue
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("--"):
            raise NoSuchCommand(word)
        yield name, value if equals or name not in with_value else next(rest, "")
