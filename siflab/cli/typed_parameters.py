"""What is typed for parameters and sweeps, as a request has it."""

import argparse
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from siflab.errors import FieldError, Invalid
from siflab.model_errors import invalid
from siflab.runs.request import Sweep
from siflab.text import Text

_LARGEST = 16 * 1024 * 1024  # bytes of a file of points


def read_parameters(typed: list[str]) -> dict[str, str]:
    """``["epochs=3"]`` -> ``{"epochs": "3"}``; the type is the parameter's. Raises Invalid."""
    found = {}
    for words in typed:
        name, is_one, value = words.partition("=")
        if not is_one or not name.strip().isidentifier():
            raise _wrong("parameters", f"{words!r}: write NAME=VALUE", f"{words!r}：请写 NAME=VALUE")
        found[name.strip()] = value
    return found


def read_sweep(options: argparse.Namespace) -> Sweep | None:
    """Of --sweep or --points. Raises Invalid."""
    if options.sweep and options.points:
        raise _wrong("sweep", "give --sweep or --points, not both", "--sweep 与 --points 只能给出一个")
    given: dict[str, Any] = {}
    if options.sweep:
        given["grid"] = {name: _values(values) for name, values in read_parameters(options.sweep).items()}
    elif options.points:
        given = _points(Path(options.points))
    elif options.at_once is None:
        return None
    try:
        return Sweep(**given, at_once=options.at_once)
    except ValidationError as error:
        raise invalid(error, "sweep.") from error


def _values(words: str) -> list[Any]:
    """``0.1,0.2``, or a JSON list where a value holds a comma."""
    if words.lstrip().startswith("["):
        try:
            values = json.loads(words)
            if isinstance(values, list):
                return values
        except ValueError:
            pass
    return [value.strip() for value in words.split(",") if value.strip()]


def _points(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            content = stream.read(_LARGEST + 1)
        text = content.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise _wrong("sweep", f"{path} cannot be read ({why})", f"无法读取 {path}（{why}）") from error
    if len(content) > _LARGEST:
        raise _wrong("sweep", f"{path} is larger than 16 MiB", f"{path} 超过 16 MiB")
    if path.suffix.lower() != ".json":
        return {"csv": text}
    try:
        return {"points": json.loads(text)}
    except (ValueError, RecursionError) as error:
        raise _wrong("sweep", f"{path} is no JSON: {error}", f"{path} 不是 JSON：{error}") from error


def _wrong(field: str, en: str, zh: str) -> Invalid:
    return Invalid([FieldError(field, "not-understood", Text(en, zh))])
