"""`siflab export`."""

import argparse

from siflab.cli.selection import find_run
from siflab.cli.terminal import harmless, pick, print_json, say, warn
from siflab.runs import Viewer
from siflab.runs import export as export_run


def export(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    run = find_run(viewer, options.run)
    done = export_run(viewer, run, options.output, options.with_checkpoints, options.with_outputs)
    if options.json:
        print_json(done.as_dict())
        return 0
    say(harmless(pick(f"{done.path}: {done.files} files", f"{done.path}：{done.files} 个文件")))
    if done.secrets:
        names = ", ".join(done.secrets)
        warn(
            pick(
                f"before you pass it on: it holds the values of parameters that look secret: {names}",
                f"分发之前请注意：其中包含疑似机密参数的值：{names}",
            )
        )
    if done.left_out:
        names = ", ".join(done.left_out)
        say(
            pick(
                f"left out: {names} (--with-checkpoints, --with-outputs)",
                f"未包含：{names}（--with-checkpoints、--with-outputs）",
            )
        )
    return 0
