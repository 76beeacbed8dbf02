"""What the reports of ranks, and those that are missing, come to."""

import signal
from types import SimpleNamespace

import pytest

from siflab.inside import AttemptFolder, Failure
from siflab.inside.node_result import judge
from siflab.inside.outcome import Outcome
from siflab.inside.ranks import read_reports, write_report

BOOM = Failure("ValueError", "boom", cell=1, cell_number=2, line=3)
GONE = Failure("RuntimeError", "[gloo/pair.cc:553] Connection closed by peer [127.0.0.1]:1", cell=1, cell_number=2)
HALTED = Outcome("stopped", None, signal.SIGTERM, {"en": "stopped in cell 2", "zh": "x"})
DONE = Outcome("completed")


def failed(error):
    return Outcome("failed", error, None, {"en": error.evalue, "zh": error.evalue})


NONE, WARNED, TERM = (None, False), (signal.SIGUSR2, True), (signal.SIGTERM, False)
CASES = {
    "all done": ([DONE, DONE], NONE, 0, ("completed", None)),
    "one failed": ([HALTED, failed(BOOM)], TERM, 1, ("failed", 1)),
    "the first counts, not what followed": ([failed(GONE), failed(BOOM)], NONE, 1, ("failed", 1)),
    "of the same error the first rank is named": ([failed(BOOM), failed(BOOM)], NONE, 1, ("failed", 0)),
    "what followed counts when there is nothing else": ([failed(GONE), HALTED], NONE, 1, ("failed", 0)),
    "one was killed, another felt it": ([failed(GONE), None], NONE, 1, ("dead_kernel", 1)),
    "warned": ([HALTED, HALTED], WARNED, 0, ("stopped", None)),
    "warned, and one did not leave": ([HALTED, None], WARNED, 1, ("stopped", None)),
    "cancelled": ([HALTED, HALTED], TERM, 0, ("stopped", None)),
    "cancelled before anyone could say anything": ([None, None], TERM, 143, ("stopped", None)),
    "done though it was warned": ([DONE, DONE], WARNED, 0, ("completed", None)),
    "nobody said anything": ([None, None], NONE, 1, ("dead_kernel", 0)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_outcome_of_all_ranks(tmp_path, case):
    outcomes, (number, warned), code, expected = CASES[case]
    attempt = AttemptFolder(tmp_path, 1)
    attempt.make()
    for rank, outcome in enumerate(outcomes):
        if outcome is not None:
            write_report(attempt, rank, outcome, seconds=10.0 - rank)
    stop = SimpleNamespace(signal=number, warned=warned, warning=signal.SIGUSR2)
    outcome = judge(attempt, read_reports(attempt), len(outcomes), code, stop, True)
    assert (outcome.status, outcome.error.rank if outcome.error else None) == expected
    if outcome.status != "completed":
        assert outcome.message["en"] and outcome.message["zh"]


@pytest.mark.parametrize(
    "text", ["", "[1]", '{"rank": "x"}', '{"rank": 0, "status": "failed", "error": 7, "message": [1]}', "{"]
)
def test_a_report_that_is_odd_is_no_trouble(tmp_path, text):
    attempt = AttemptFolder(tmp_path, 1)
    (attempt.folder / "ranks").mkdir(parents=True)
    (attempt.folder / "ranks" / "0.json").write_text(text)
    stop = SimpleNamespace(signal=None, warned=False, warning=signal.SIGUSR2)
    assert judge(attempt, read_reports(attempt), 1, 1, stop, True).status in ("dead_kernel", "failed")
