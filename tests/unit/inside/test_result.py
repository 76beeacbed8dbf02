"""Results, and the line at which a cell failed."""

import json

import pytest

from siflab.inside.attempt import AttemptFolder
from siflab.inside.outcome import dead_kernel, failed, stopped
from siflab.inside.progress import Progress, ProgressWriter, read_progress
from siflab.inside.result import EXIT_CODES, Failure, Result, line_of_error, read_result, write_result

NOW = """ZeroDivisionError                         Traceback (most recent call last)
Cell In[5], line 3
      1 def f():
----> 3 f()

Cell In[5], line 2, in f()
----> 2     return 1/0

File /lib/python3/other.py:99, in g()
     98 x
---> 99 y
"""
TRACEBACKS = {
    "innermost frame of the cell": (NOW, 5, 2),
    "another cell's function": ("Cell In[6], line 4\n      1 f()\n\nCell In[5], line 2, in f()\n", 6, 4),
    "a blank in the head": ("Cell In [5], line 7\n", 5, 7),
    "IPython 8.0": ("Input In [5], in <cell line: 3>()\n      1 def f():\n----> 3 f()\n\nInput In [5], in f()\n----> 2 return\n", 5, 2),
    "IPython 7": ("<ipython-input-5-0a1b> in <module>\n      1 a\n----> 2 1/0\n", 5, 2),
    "syntax": ('  Cell In[5], line 1\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n', 5, 1),
    "syntax, IPython 8.0": ("  Input In [5]\n, line 4\n", 5, None),
    "syntax, IPython 7": ('  File "<ipython-input-5-0a1b>", line 2\n    x = = 1\n', 5, 2),
    "no frame in the cell": ("File /lib/python3/other.py:99, in g()\n---> 99 y\n", 5, None),
    "another count": (NOW, 4, None),
    "no traceback": ("", 5, None),
}  # fmt: skip


@pytest.mark.parametrize("name", TRACEBACKS)
def test_the_line_of_an_error(name):
    traceback, count, line = TRACEBACKS[name]
    assert line_of_error(traceback, count) == line


def test_a_failed_cell_is_told_with_cell_and_line():
    colours = [f"\x1b[31m{line}\x1b[0m" for line in NOW.splitlines()]
    cell = {
        "execution_count": 5,
        "outputs": [{"output_type": "error", "ename": "E", "evalue": "why.\nmore", "traceback": colours}],
    }
    outcome = failed(cell, 9, 4, "", "")
    assert (outcome.error.cell, outcome.error.cell_number, outcome.error.line) == (9, 4, 2)
    assert outcome.message == {"en": "Cell 4, line 2: E: why", "zh": "第 4 个单元格第 2 行:E: why"}
    assert outcome.error.traceback_text == NOW.rstrip("\n")


@pytest.mark.parametrize(
    ("exit_code", "signal", "said"),
    [(-9, 9, "SIGKILL in cell 2. Most often the memory"), (-11, 11, "SIGSEGV in cell 2. Native code"), (1, None, "exit code 1 in cell 2")],
)  # fmt: skip
def test_a_dead_kernel_is_told_with_its_cause(exit_code, signal, said):
    outcome = dead_kernel(3, 2, exit_code)
    assert outcome.signal == signal and said in outcome.message["en"]


@pytest.mark.parametrize(
    ("signal", "warned", "saved", "said"),
    [(15, False, False, "cancelled or preempted"), (12, True, False, "time limit is near"),
     (15, True, True, "time limit is near: its checkpoint was saved"), (12, False, True, "preempted: its checkpoint")],
)  # fmt: skip
def test_a_stop_is_told_with_its_cause(signal, warned, saved, said):
    message = stopped(2, signal, warned, saved).message["en"]
    assert said in message.replace(". What was printed is kept; ", ": ") or said in message


def test_exit_codes_are_no_signals_to_slurm():
    assert EXIT_CODES["completed"] == 0 and len(set(EXIT_CODES.values())) == len(EXIT_CODES)
    assert all(0 < code < 128 and code != 2 for status, code in EXIT_CODES.items() if status != "completed")


@pytest.fixture
def attempt(tmp_path):
    attempt = AttemptFolder(tmp_path, 1)
    attempt.make()
    return attempt


def test_a_result_comes_back_as_it_was(attempt):
    result = Result("failed", 1, "a", "b", 3, 1, Failure("E", "v", 2, 1, 5, "t"), None, {"en": "m", "zh": "m"})
    write_result(attempt, result)
    assert read_result(attempt) == result


@pytest.mark.parametrize("text", [None, "", "{", "[]", '{"status": "completed"}'])
def test_what_is_no_whole_result_is_none(attempt, text):
    if text is not None:
        attempt.result.write_text(text)
    assert read_result(attempt) is None


@pytest.mark.parametrize("text", [None, "", "{", "[]", "{}"])
def test_what_is_no_whole_progress_is_none(attempt, text):
    if text is not None:
        attempt.progress.write_text(text)
    assert read_progress(attempt) is None


def test_progress_is_written_when_due(attempt, monkeypatch):
    clock = [1000.0]
    monkeypatch.setattr("siflab.inside.progress.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("siflab.inside.progress.now", lambda: f"{clock[0]:.1f}")
    writer = ProgressWriter(attempt, 3)

    def written(after, **changes):
        clock[0] += after
        writer.change(**changes)
        writer.write()
        return read_progress(attempt)

    assert written(0) == Progress(3, updated_at="1000.0")
    assert written(0.1, cells_done=1).cells_done == 0  # too soon
    assert written(0.5).cells_done == 1
    assert written(0.0, phase="finished").phase == "finished"  # a phase at once
    stamp = read_progress(attempt).updated_at
    assert written(5).updated_at == stamp  # nothing new
    assert written(6).updated_at > stamp  # but alive


@pytest.mark.parametrize(
    "broken",
    [
        {"error": {}},
        {"error": {"ename": 1, "line": "x"}},
        {"error": "words"},
        {"message": "words"},
        {"message": {"en": 1}},
        {"warnings": "words"},
        {"warnings": [1, {"en": "a"}]},
    ],
)
def test_a_result_that_somebody_else_wrote_breaks_nothing(tmp_path, broken):
    attempt = AttemptFolder(tmp_path, 1)
    attempt.folder.mkdir(parents=True)
    whole = {"status": "failed", "exit_code": 1, "started_at": "-", "ended_at": "-"}
    attempt.result.write_text(json.dumps({**whole, **broken}))
    result = read_result(attempt)
    assert result is not None
    assert result.status == "failed"
    assert all(isinstance(words["zh"], str) for words in result.warnings)


def test_a_file_that_cannot_be_read_is_not_there(tmp_path):
    attempt = AttemptFolder(tmp_path, 1)
    attempt.result.mkdir(parents=True)
    assert read_result(attempt) is None


def test_a_traceback_of_blank_lines_takes_no_time():
    assert line_of_error("\n" * 300_000 + "Cell In[1], line 7\n", 1) == 7
    assert line_of_error("<ipython-input-1-x\n" * 30_000 + ' File "<ipython-input-1-x\n' * 30_000, 1) is None
