"""`siflab logs`."""

import argparse

from siflab.cli.following import follow_log, print_log
from siflab.cli.selection import find_id
from siflab.cli.show import describe_end
from siflab.cli.terminal import warn
from siflab.runs import Viewer


def logs(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    run_id = find_id(viewer, options.id)
    if options.follow:
        warn(describe_end(follow_log(viewer, run_id, options.attempt)))
    else:
        print_log(viewer, run_id, options.attempt)
    return 0
