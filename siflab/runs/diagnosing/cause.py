"""Which cause it was: the most certain word first. Slurm's own state, what the script found, an exception, a line of a
program around the notebook, a signal."""

import signal
from dataclasses import dataclass, field, replace

from siflab.inside import Failure
from siflab.runs.diagnosing import rules
from siflab.runs.diagnosing.case import Case
from siflab.runs.diagnosing.diagnosis import Place
from siflab.runs.diagnosing.rules import RootCause, of_exception, of_lines, root_cause
from siflab.runs.diagnosing.tracebacks import Raised, chains, lines_of, read_raised

_BY_STATE = {"timeout": "time_limit", "out_of_memory": "host_memory", "node_fail": "node_failure"}
_BY_PROBLEM = {
    "no-attempt": "disk_full",
    "no-singularity": "no_singularity",
    "no-image": "image_broken",
    "no-bind": "bind",
    "no-container": "container",
    "no-requeue": "no_requeue",
    "no-rendezvous": "rendezvous",
    "not-yours": "not_yours",
}
_CERTAIN = frozenset({"host_memory", "time_limit", "preemption", "node_failure"})
"""Lines of Slurm's that explain whatever exception there is besides."""
_CRASHES = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGABRT, signal.SIGFPE)
_KERNELS = ("DeadKernel", "DeadProcess", "Unknown")
"""What the runner calls the end of a process that left no word."""
_BY_CODE = {(0, 53): "no_log", (71, 0): "disk_full", (79, 0): "not_yours"}
"""By Slurm's ExitCode, of a job that left no word of its own (`siflab.runs.status`)."""


@dataclass(frozen=True)
class Found:
    """`raised` is the exception that it was, `said` the line, `signal` the signal."""

    cause: str
    said: str | None = None
    raised: Raised | None = None
    signal: int | None = None
    place: Place = field(default_factory=Place)


def find(case: Case) -> Found:
    """The cause of a run that has ended and did not complete, or that waits and cannot start."""
    lines = [line for _, line in lines_of(f"{case.around}\n{case.log}")]
    found = _find(case, lines)
    if found.said is None and found.raised is not None:
        found = replace(found, said=found.raised.line.partition("\n")[0])
    place = found.place if case.is_distributed else replace(found.place, rank=None)
    return replace(found, said=found.said[:300] if found.said else None, place=place)


def _find(case: Case, lines: list[str]) -> Found:
    place = _with_error(case.place, case.error)
    if case.state == "pending":
        return Found("never_starts", case.reason or None)
    if case.slurm == "PREEMPTED":
        return Found("preemption", place=place)
    if case.state == "cancelled":
        return Found("cancelled", place=place)
    if case.state in _BY_STATE:
        cause = _BY_STATE[case.state]
        return Found(cause, (of_lines(lines, frozenset({cause})) or (cause, None))[1], place=place)
    if case.problem in _BY_PROBLEM:
        cause = _BY_PROBLEM[case.problem]
        more = of_lines(lines, frozenset({"bind", "image_broken", "container", "step_failed"}))
        return Found(more[0], more[1], place=place) if more and cause == "container" else Found(cause, place=place)
    if case.slurm_code in _BY_CODE and case.result is None:
        return Found(_BY_CODE[case.slurm_code], place=place)
    certain = of_lines(lines, _CERTAIN)
    if certain is not None:
        return Found(*certain, place=place)
    return _by_words(case, lines, place)


def _by_words(case: Case, lines: list[str], place: Place) -> Found:
    report = root_cause(lines)
    if report is not None:
        place = replace(
            place,
            rank=report.rank if place.rank is None else place.rank,
            node=report.host if report.host and not place.is_one_node else place.node,
        )
    first = _by_exception(case, report, place)
    if first is not None and first.cause not in rules.SECONDARY:
        return first
    line = of_lines(lines)
    if line is not None:
        return Found(*line, place=place)
    by_signal = _by_signal(case, report, place)
    if by_signal is not None:
        return by_signal
    if first is not None:
        return first
    stopped = case.result is not None and case.result.status == "stopped"
    return Found("stopped" if stopped else "unknown", place=place)


def _by_exception(case: Case, report: RootCause | None, place: Place) -> Found | None:
    error = case.error
    if error is not None and error.ename not in _KERNELS:
        own = Raised(error.ename, error.evalue[:2000])
        chain = [*(chains(read_raised(error.traceback_text)) or [[]])[-1], own]
        found = _of_chain(chain, place)
        if found.cause not in rules.SECONDARY:
            return found
    told = chains(read_raised(f"{case.around}\n{case.log}"))
    many = report is not None or any(chain[-1].rank is not None for chain in told)
    told = [chain for chain in told if chain[-1].short_name not in rules.REPORTS]
    if not many:
        told = told[-1:]
    elif report is not None:  # the rank that ended first, before all others
        told.sort(key=lambda chain: chain[-1].rank != report.rank)
    candidates = [_of_chain(chain, place) for chain in told]
    primary = [one for one in candidates if one.cause not in rules.SECONDARY]
    if not many and error is not None and error.ename in _KERNELS:  # an earlier cell's error is not what killed it
        primary = [one for one in primary if one.cause != "user_exception"]
        candidates = primary
    return next(iter([*primary, *candidates]), None)


def _of_chain(chain: list[Raised], place: Place) -> Found:
    """The first of a chain that the table knows; else what it ended with."""
    for raised in chain:
        cause = of_exception(raised)
        if cause is not None:
            return Found(cause, None, raised, place=_with_frames(place, chain[-1]))
    return Found("user_exception", None, chain[-1], place=_with_frames(place, chain[-1]))


def _by_signal(case: Case, report: RootCause | None, place: Place) -> Found | None:
    number, said = None, None
    if case.error is not None and case.error.ename in _KERNELS and case.result is not None:
        number = case.result.signal
    elif report is not None and report.exit_code is not None and report.exit_code < 0:
        number, said = -report.exit_code, f"exitcode: {report.exit_code}"
    elif case.exit_code is not None and 128 < case.exit_code < 193:
        number = case.exit_code - 128
    if number == signal.SIGKILL:
        return Found("killed", said, signal=number, place=place)
    if number in _CRASHES:
        return Found("crash", said, signal=number, place=place)
    if number is not None or case.problem == "signal":
        return Found("killed_by_signal", said, signal=number, place=place)
    if case.error is not None and case.error.ename in _KERNELS:
        return Found("kernel_exited", place=place)
    return None


def _with_error(place: Place, error: Failure | None) -> Place:
    if error is None:
        return place
    rank = getattr(error, "rank", None)
    return replace(
        place,
        cell=error.cell,
        cell_number=error.cell_number or place.cell_number,
        line=error.line,
        rank=rank if isinstance(rank, int) else place.rank,
    )


def _with_frames(place: Place, raised: Raised) -> Place:
    """Of a script: the line in it, of the innermost frame that lies there."""
    if place.line is None and place.cell_number is None:
        lines = [line for file, line in raised.frames if file.rpartition("/")[2] == "input.py"]
        place = replace(place, line=lines[-1] if lines else None)
    return replace(place, rank=raised.rank) if raised.rank is not None else place
