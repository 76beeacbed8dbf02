"""Where a rank's messages go."""

import json

from siflab.inside.outcome import COMPLETED
from siflab.inside.rank_output import FirstRank
from siflab.inside.run import begin_attempt
from siflab.inside.signals import StopRequest


def test_what_a_thread_prints_between_cells_is_of_the_last_one(make_run):
    run = make_run("1", "2")
    run.attempt.make()
    output = FirstRank(begin_attempt(run.attempt, StopRequest()))
    output.message("stream", {"name": "stdout", "text": "before all cells"})
    output.begins(0, 1)
    output.ends(0, "done")
    output.message("stream", {"name": "stdout", "text": "late"})
    output.begins(1, 2)
    output.message("stream", {"name": "stdout", "text": "two"})
    output.ends(1, "done")
    output.settles(COMPLETED)
    assert (run.text(0), run.text(1)) == ("late", "two")
    assert run.states() == ["done", "done"]


def test_the_journal_of_the_first_rank_is_bounded(make_run):
    run = make_run("1", output_limit=1000)  # the journal may grow to six times that
    run.attempt.make()
    attempt = begin_attempt(run.attempt, StopRequest())
    output = FirstRank(attempt)
    output.begins(0, 1)
    for step in range(500):
        output.message("clear_output", {"wait": True})
        output.message("display_data", {"data": {"text/plain": f"{step:200d}"}})
    output.keep()
    output.ends(0, "done")
    output.settles(COMPLETED)
    assert run.attempt.journal.stat().st_size < 10_000
    assert json.loads(run.attempt.output.read_text())["cells"][0]["outputs"][0]["data"]["text/plain"].strip() == "499"
