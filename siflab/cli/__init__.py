"""The command line: the same functions as the REST API's, on a login node and in a session.

Exit codes: `siflab.cli.ending.EXIT_CODES`.
"""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code. The rest is imported here, so that Ctrl-C in that first moment is no traceback either."""
    try:
        from siflab.cli.command import main as command

        return command(arguments)
    except KeyboardInterrupt:
        sys.stderr.write("\nsiflab: interrupted; nothing was done / 已中断；未执行任何操作\n")
        return 130
