"""`siflab cancel`."""

import argparse

from siflab.cli.ending import explain
from siflab.cli.selection import find_id
from siflab.cli.terminal import in_words, pick, print_json, say
from siflab.errors import SiflabError
from siflab.runs import Run, Viewer, get_run
from siflab.runs import cancel as cancel_run


def cancel(options: argparse.Namespace) -> int:
    """Every one that can be cancelled is, also when another cannot; the worst exit code."""
    viewer = Viewer.here()
    worst, answers = 0, []
    for typed in options.ids:
        try:
            before = get_run(viewer, find_id(viewer, typed))
            run = before if before.ended else cancel_run(viewer, before.id)
        except SiflabError as error:
            worst = max(worst, explain(error))
            continue
        answers.append(run.as_dict())
        if not options.json:
            say(_said(run, before.ended))
    if options.json:
        print_json({"runs": answers})
    return worst


def _said(run: Run, had_ended: bool) -> str:
    state = in_words(run.state_text)
    if had_ended:
        return pick(f"run {run.id}: has ended already ({state})", f"运行 {run.id}：此前已结束（{state}）")
    if run.ended:
        return pick(f"run {run.id}: {state}", f"运行 {run.id}：{state}")
    return pick(f"run {run.id}: being cancelled", f"运行 {run.id}：正在取消")
