"""`siflab resume`."""

import argparse

from siflab.cli.selection import find_id
from siflab.cli.terminal import pick, print_json, say
from siflab.runs import Viewer
from siflab.runs import resume as resume_run


def resume(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    run = resume_run(viewer, find_id(viewer, options.id))
    if options.json:
        print_json(run.as_dict())
    else:
        say(
            pick(
                f"run {run.id} goes on as job {run.job_id}, from attempt {run.attempts + 1}",
                f"运行 {run.id} 将以作业 {run.job_id} 继续，从第 {run.attempts + 1} 次尝试开始",
            )
        )
    return 0
