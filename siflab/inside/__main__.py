"""``python runner.pyz --run RUNFOLDER --attempt K [--point N]``: execute the notebook of a run. Exit codes:
`result.EXIT_CODES`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .attempt import AttemptFolder
from .signals import StopRequest


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(prog="runner.pyz", description="Execute the notebook of a Siflab run.")
    parser.add_argument("--run", required=True, type=Path, metavar="FOLDER", help="the run's folder, as seen here")
    parser.add_argument("--attempt", required=True, type=int, metavar="K", help="the attempt's number, from 1")
    parser.add_argument("--point", type=int, metavar="N", help="of a sweep: the point's number, from 0")
    options = parser.parse_args(arguments)
    if options.attempt < 1:
        parser.error("--attempt counts from 1")
    if not options.run.is_dir():
        parser.error(f"--run: there is no folder {options.run}; is it bound into the container?")
    stop = StopRequest()
    stop.listen()
    from .facts import write_facts  # after the signals are listened to
    from .run import run_attempt

    attempt = AttemptFolder(options.run.resolve(), options.attempt, options.point)
    write_facts(attempt)
    return run_attempt(attempt, stop)


if __name__ == "__main__":
    sys.exit(main())
