"""``python runner.pyz --run RUNFOLDER --attempt K [--point N]``: execute the notebook or script of a run. With
``--node`` the processes of one node of a distributed run (`node`); the word ``rank`` alone is one of them. Exit
codes: `result.EXIT_CODES`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .attempt import AttemptFolder, read_json
from .signals import StopRequest


def main(arguments: list[str] | None = None) -> int:
    """The exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    after = words[words.index("--") + 1 :] if "--" in words else []
    if words == ["rank"]:
        return _be_a_rank()
    options = _parser().parse_args(words[: words.index("--")] if "--" in words else words)
    attempt = AttemptFolder(options.run.resolve(), options.attempt, options.point)
    stop = StopRequest()
    stop.listen()
    from .facts import write_facts  # after the signals are listened to

    if not options.node or _is_first_node():
        write_facts(attempt)
    if options.node or (read_json(attempt.request) or {}).get("kind") == "script":
        from .node import Node

        return Node(attempt, stop, after if options.node else None).run()
    from .run import run_attempt

    return run_attempt(attempt, stop)


def _be_a_rank() -> int:
    """Of the attempt that `node` has named in the environment."""
    from .rank import run_rank
    from .record import current_attempt

    attempt = current_attempt()
    if attempt is None:
        print("siflab: `rank` is started by `--node` only", file=sys.stderr)
        return 2
    return run_rank(attempt)


def _is_first_node() -> bool:
    return os.environ.get("SLURM_NODEID", "0") == "0"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="runner.pyz", description="Execute the notebook or script of a Siflab run.")
    parser.add_argument("--run", required=True, type=_folder, metavar="FOLDER", help="the run's folder, as seen here")
    parser.add_argument("--attempt", required=True, type=_number, metavar="K", help="the attempt's number, from 1")
    parser.add_argument("--point", type=int, metavar="N", help="of a sweep: the point's number, from 0")
    parser.add_argument("--node", action="store_true", help="start this node's processes; -- and torchrun's arguments")
    return parser


def _folder(words: str) -> Path:
    if not Path(words).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {words}; is it bound into the container?")
    return Path(words)


def _number(words: str) -> int:
    if not words.isdecimal() or int(words) < 1:
        raise argparse.ArgumentTypeError("attempts count from 1")
    return int(words)


if __name__ == "__main__":
    sys.exit(main())
