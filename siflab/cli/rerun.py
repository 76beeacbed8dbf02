"""`siflab rerun`."""

import argparse
import json
from typing import Any

from siflab.cli.selection import find_run
from siflab.cli.terminal import harmless, in_words, pick, print_json, say, warn
from siflab.cli.typed_parameters import read_parameters
from siflab.errors import FieldError, Invalid
from siflab.runs import RunRequest, Viewer
from siflab.runs import rerun as rerun_run
from siflab.text import Text


def rerun(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    changes = read_changes(options.changes)
    if options.parameter:
        changes["parameters"] = read_parameters(options.parameter)
    again = rerun_run(viewer, find_run(viewer, options.run), changes, options.dry_run)
    if options.json:
        print_json(again.as_dict())
        return 0
    for difference in again.differences:
        warn(pick("differs: ", "不同之处：") + harmless(in_words(difference.text)))
    if again.run is None:
        warn(pick("nothing was submitted", "没有提交任何作业"))
        return 0
    run = again.run
    if run.job_id is None:
        say(pick(f"run {run.id} was written: {run.folder}", f"运行 {run.id} 已生成：{run.folder}"))
        return 0
    say(pick(f"run {run.id} was submitted as job {run.job_id}", f"运行 {run.id} 已提交，作业号 {run.job_id}"))
    say(pick(f"follow it with: siflab logs -f {run.id}", f"查看进展：siflab logs -f {run.id}"))
    return 0


def read_changes(typed: list[str]) -> dict[str, Any]:
    """``["memory=48G", "attempts=3"]``, as fields of a request; a list is written as JSON. Raises Invalid."""
    found: dict[str, Any] = {}
    for words in typed:
        name, is_one, value = words.partition("=")
        name = name.strip()
        if not is_one or name not in RunRequest.model_fields or name in ("parameters", "sweep"):
            known = ", ".join(sorted(set(RunRequest.model_fields) - {"parameters", "sweep", "path", "rerun_of"}))
            message = Text(
                f"{words!r}: write FIELD=VALUE; the fields are {known}",
                f"{words!r}：请写 FIELD=VALUE；可用字段：{known}",
            )
            raise Invalid([FieldError("with", "not-understood", message)])
        found[name] = _value(name, value)
    return found


def _value(name: str, value: str) -> Any:
    if name != "arguments":
        return value or None
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if not isinstance(found, list):
        message = Text('arguments are a JSON list: ["--epochs", "3"]', 'arguments 须为 JSON 列表：["--epochs", "3"]')
        raise Invalid([FieldError("with", "not-understood", message)])
    return found
