"""An attempt that was killed: its journal replayed."""

import json
import random
import subprocess
import sys

import pytest
from nbformat import validate
from nbformat.notebooknode import from_dict

from siflab.inside import attempt_numbers, recover
from siflab.inside.journal import Journal
from siflab.inside.result import Result, write_result


@pytest.fixture
def killed(make_run):
    """Killed in the second of three cells."""
    run = make_run("1", "2", "3")
    run.attempt.make()
    journal = Journal(run.attempt.journal)
    journal.mark("begin", version=1)
    journal.mark("kernel", language_info={"name": "python"})
    for cell, state in ((0, "done"), (1, None)):
        journal.mark("start", cell)
        for n in range(20):
            content = {"name": "stdout", "text": f"{cell}.{n} 训练\n"}
            journal.append({"type": "stream", "cell": cell, "at": "t", "parent": f"p{cell}", "content": content})
        if state:
            journal.mark("done", cell, status=state)
    journal.close()
    return run


def test_everything_printed_is_in_the_notebook(killed):
    found = recover(killed.folder, 1)
    assert (found.status, found.cells_total, found.cells_done, found.cell, found.cell_number, found.torn) == (
        "killed",
        3,
        1,
        1,
        2,
        0,
    )
    assert killed.states() == ["done", "killed", "not run"]
    assert killed.text(1) == "".join(f"1.{n} 训练\n" for n in range(20))
    assert (
        killed.notebook["metadata"]["siflab"]["status"] == "killed"
        and killed.notebook["metadata"]["siflab"]["recovered"]
    )
    validate(from_dict(killed.notebook))


def test_the_journal_may_end_at_any_byte(killed):
    whole = killed.attempt.journal.read_bytes()
    chance = random.Random(7)
    for length in [0, 1, *(chance.randrange(len(whole)) for _ in range(40)), len(whole) - 1]:
        killed.attempt.journal.write_bytes(whole[:length])
        found = recover(killed.folder, 1)
        complete = whole[:length].count(b"\n")
        torn = length and whole[:length][-1:] != b"\n"
        parsed = complete + 1 if torn and whole[length : length + 1] == b"\n" else complete
        assert (found.records, found.torn) == (parsed, int(parsed == complete and bool(torn)))
        validate(from_dict(killed.notebook))


def test_it_is_replayed_once(killed):
    first = recover(killed.folder, 1)
    stamp = killed.attempt.output.stat().st_mtime_ns
    assert recover(killed.folder, 1) == first
    assert killed.attempt.output.stat().st_mtime_ns == stamp
    killed.attempt.output.unlink()
    assert recover(killed.folder, 1).records == first.records and killed.attempt.output.exists()


def test_what_the_runner_left_half_done_is_swept_up(killed):
    half = killed.attempt.folder / ".output.ipynb.77.tmp"
    half.write_text("{")
    killed.attempt.reserve.write_bytes(b"\0")
    recover(killed.folder, 1)
    assert not half.exists() and not killed.attempt.reserve.exists()


def test_the_end_that_the_runner_could_still_say_counts(killed):
    journal = Journal(killed.attempt.journal)
    journal.mark("done", 1, status="failed")
    journal.mark("end", status="failed")
    journal.close()
    found = recover(killed.folder, 1)
    assert (found.status, found.cell_number, killed.states()) == ("failed", 2, ["done", "failed", "not run"])


def test_an_attempt_with_a_result_is_left_alone(killed):
    write_result(killed.attempt, Result("completed", 0, "a", "b", 3, 3))
    assert recover(killed.folder, 1) is None
    assert not killed.attempt.output.exists()


def test_an_attempt_that_never_began_has_nothing(make_run):
    run = make_run("1")
    assert (attempt_numbers(run.folder), recover(run.folder, 1)) == ([], None)


def test_a_python_without_any_package_can_do_it(killed):
    code = "import sys; from siflab.inside import recover; print(recover(sys.argv[1], 1).cells_done)"
    command = [sys.executable, "-S", "-c", code, str(killed.folder)]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(killed.folder / "runner.pyz")}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n", "")
    assert json.loads(killed.attempt.recovery.read_text())["cell_number"] == 2
