"""`siflab cancel`."""

import argparse

from siflab.cli.ending import explain
from siflab.cli.selection import find_id
from siflab.cli.terminal import in_words, pick, print_json, say
from siflab.errors import SiflabError
from siflab.runs import Viewer
from siflab.runs import cancel as cancel_run


def cancel(options: argparse.Namespace) -> int:
    """Every one that can be cancelled is, also when another cannot; the worst exit code."""
    viewer = Viewer.here()
    worst, answers = 0, []
    for typed in options.ids:
        try:
            run = cancel_run(viewer, find_id(viewer, typed))
        except SiflabError as error:
            worst = max(worst, explain(error))
            continue
        answers.append(run.as_dict())
        if not options.json:
            state = in_words(run.state_text)
            say(
                pick(f"run {run.id}: {state}", f"运行 {run.id}：{state}")
                if run.ended
                else pick(f"run {run.id}: being cancelled", f"运行 {run.id}：正在取消")
            )
    if options.json:
        print_json({"runs": answers})
    return worst
