"""`siflab`: from the arguments to one of the commands."""

import argparse
import sys
from collections.abc import Callable, Sequence

from siflab.cli.ending import broken_pipe, explain, interrupted, unexpected
from siflab.cli.parser import build
from siflab.cli.promote_arguments import split
from siflab.config import SiteError
from siflab.errors import SiflabError


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name that this terminal's encoding lacks is no reason to fail
    try:
        words, after = split(sys.argv[1:] if arguments is None else list(arguments))
        options = build().parse_args(words)
        if options.command in ("promote", "preview"):
            options.arguments = after
    except SystemExit as end:  # argparse ends the process for --help and for wrong arguments
        return end.code if isinstance(end.code, int) else 2
    try:
        return _COMMANDS[options.command](options)
    except (SiflabError, SiteError) as error:
        return explain(error)
    except KeyboardInterrupt:
        return interrupted()
    except BrokenPipeError:
        return broken_pipe()
    except Exception as error:
        return unexpected(error)


def _promote(options: argparse.Namespace) -> int:
    from siflab.cli.promote import promote

    return promote(options)


def _preview(options: argparse.Namespace) -> int:
    options.dry_run = True
    return _promote(options)


def _runs(options: argparse.Namespace) -> int:
    from siflab.cli.runs_table import runs

    return runs(options)


def _show(options: argparse.Namespace) -> int:
    from siflab.cli.show import show

    return show(options)


def _points(options: argparse.Namespace) -> int:
    from siflab.cli.points import points

    return points(options)


def _to_script(options: argparse.Namespace) -> int:
    from siflab.cli.to_script import to_script

    return to_script(options)


def _logs(options: argparse.Namespace) -> int:
    from siflab.cli.logs import logs

    return logs(options)


def _metrics(options: argparse.Namespace) -> int:
    from siflab.cli.metrics import metrics

    return metrics(options)


def _cancel(options: argparse.Namespace) -> int:
    from siflab.cli.cancel import cancel

    return cancel(options)


def _rerun(options: argparse.Namespace) -> int:
    from siflab.cli.rerun import rerun

    return rerun(options)


def _resume(options: argparse.Namespace) -> int:
    from siflab.cli.resume import resume

    return resume(options)


def _repair(options: argparse.Namespace) -> int:
    from siflab.cli.repair import repair

    return repair(options)


def _export(options: argparse.Namespace) -> int:
    from siflab.cli.export import export

    return export(options)


def _profiles(options: argparse.Namespace) -> int:
    from siflab.cli.profiles import profiles

    return profiles(options)


def _env(options: argparse.Namespace) -> int:
    from siflab.cli.env import env

    return env(options)


def _site(options: argparse.Namespace) -> int:
    from siflab.cli.site_check import check

    return check(options)


def _session(options: argparse.Namespace) -> int:
    from siflab.cli.session import session

    return session(options)


_COMMANDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "promote": _promote,
    "preview": _preview,
    "runs": _runs,
    "show": _show,
    "points": _points,
    "to-script": _to_script,
    "logs": _logs,
    "metrics": _metrics,
    "cancel": _cancel,
    "rerun": _rerun,
    "resume": _resume,
    "repair": _repair,
    "export": _export,
    "profiles": _profiles,
    "env": _env,
    "session": _session,
    "site": _site,
}
