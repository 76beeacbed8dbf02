"""`siflab repair`."""

import argparse

from siflab.cli.selection import find_run
from siflab.cli.terminal import harmless, in_words, pick, print_json, say
from siflab.runs import Viewer
from siflab.runs import repair as repair_run


def repair(options: argparse.Namespace) -> int:
    """1 when a journal could not be replayed."""
    viewer = Viewer.here()
    done = repair_run(viewer, find_run(viewer, options.run), options.force)
    if options.json:
        print_json(done.as_dict())
    elif not done.attempts:
        say(pick("no attempt has begun yet: nothing to do", "尚无任何尝试：无需修复"))
    else:
        for one in done.attempts:
            say(harmless(in_words(one.text)))
    return int(any(one.state == "failed" for one in done.attempts))
