"""The command line: the same functions as the REST API's, on a login node and in a session.

Exit codes: `siflab.cli.ending.EXIT_CODES`.
"""

from siflab.cli.command import main

__all__ = ["main"]
