"""A cell that prints more than a notebook should hold."""

import json

import nbformat
import pytest

from siflab.inside import AttemptFolder, recover, spill
from siflab.inside.journal import Journal
from siflab.inside.notebook import blank
from siflab.inside.outputs import Outputs
from siflab.inside.spill import Spills, limit_of, relative_path

LIMIT = 1000
LINES = [f"line {n}\n" for n in range(400)]


def record(text, name="stdout", cell=0):
    return {"type": "stream", "cell": cell, "at": "2030-01-01T00:00:00+00:00", "parent": "p", "content": {"name": name, "text": text}}  # fmt: skip


def display(value, display_id, kind="display_data"):
    content = {"data": {"text/plain": value}, "metadata": {}, "transient": {"display_id": display_id}}
    return {**record(""), "type": kind, "content": content}


@pytest.fixture
def printing(make_run):
    """As `client.RunClient` does it: (run, say)."""
    run = make_run("", "", output_limit=LIMIT)
    run.attempt.make()
    notebook = json.loads((run.folder / "input.ipynb").read_text())
    blank(notebook)
    outputs, spills = Outputs(notebook, run.attempt.folder, LIMIT), Spills(run.attempt.folder)
    journal = Journal(run.attempt.journal)

    def say(each):
        if each["type"] == "stream" and outputs.is_spilled(each["cell"], each["parent"]):
            spills.write(each["cell"] + 1, each["content"]["text"])
            return
        journal.append(each)
        outputs.apply(each)
        if outputs.is_over_limit(each["cell"]):
            spills.write(each["cell"] + 1, outputs.printed(each["cell"]))
            outputs.apply(journal.mark("spill", each["cell"]))

    say.outputs, say.notebook, say.journal, say.spills = outputs, notebook, journal, spills
    return run, say


def test_all_of_it_is_in_a_file_and_beginning_and_end_in_the_notebook(printing):
    run, say = printing
    for line in LINES:
        say(record(line))
        say.outputs.settle()
    head, note, tail = say.notebook["cells"][0]["outputs"]
    text = "".join(LINES)
    assert (run.attempt.folder / "logs/cell-1.txt").read_text() == text
    assert text.startswith(head["text"]) and head["text"].endswith("\n") and LIMIT / 3 < len(head["text"]) <= LIMIT / 2
    assert (
        text.endswith(tail["text"]) and tail["text"].startswith("line ") and LIMIT / 3 < len(tail["text"]) <= LIMIT / 2
    )
    assert "[logs/cell-1.txt](logs/cell-1.txt)" in note["data"]["text/markdown"]
    assert "0.001 MB" in note["data"]["text/plain"] and "此单元格" in note["data"]["text/plain"]
    nbformat.validate(nbformat.from_dict(say.notebook))
    assert run.attempt.journal.stat().st_size < 4 * LIMIT * 20


def test_other_outputs_stay_and_can_be_updated(printing):
    run, say = printing
    say(record("first\n"))
    say(display("0", "early"))
    for line in LINES[:200]:
        say(record(line))
        say(record("!\n", "stderr"))
    say(display("0", "late"))
    say(record("last\n", "stderr"))
    for name in ("early", "late"):
        say(display("9", name, "update_display_data"))
    say.outputs.settle()
    outputs = say.notebook["cells"][0]["outputs"]
    shown = [o["data"]["text/plain"] for o in outputs if o["output_type"] == "display_data"]
    assert (shown[0], shown[2]) == ("9", "9") and "cell-1.txt" in shown[1]
    assert outputs[-2]["text"].endswith("last\n")
    assert (run.attempt.folder / "logs/cell-1.txt").read_text().startswith("first\nline 0\n!\nline 1\n!\n")


@pytest.mark.parametrize("count", [1, 90, 130, 400])
@pytest.mark.parametrize("anew", [False, True])
def test_recovery_comes_to_the_same(printing, count, anew, monkeypatch):
    run, say = printing
    if anew:
        monkeypatch.setattr(say.journal, "_bound", 3000)
    say.journal.mark("begin", version=1)
    for line in LINES[:count]:
        say(record(line))
        say.journal.shorten_if_due(say.outputs.state)
    say(record("other cell\n", cell=1))
    say.outputs.settle()
    assert recover(run.folder, 1).status == "killed"
    assert [cell["outputs"] for cell in run.notebook["cells"]] == [cell["outputs"] for cell in say.notebook["cells"]]


def test_a_cell_that_is_cleared_begins_anew(printing):
    _, say = printing
    for line in LINES:
        say(record(line))
    say({**record(""), "type": "clear_output", "content": {"wait": True}})
    say(record("short\n"))
    say.outputs.settle()
    assert [o["text"] for o in say.notebook["cells"][0]["outputs"]] == ["short\n"]
    for line in LINES:
        say(record(line))
    say.outputs.settle()
    assert say.notebook["cells"][0]["outputs"][0]["text"].startswith("short\nline 0\n")


def test_a_bar_never_gets_there(printing):
    run, say = printing
    for n in range(1000):
        say(record(f"\r{n}% of something that is long"))
    say.outputs.settle()
    assert [o["text"] for o in say.notebook["cells"][0]["outputs"]] == ["999% of something that is long"]
    assert not (run.attempt.folder / relative_path(1)).exists()


def test_a_file_that_cannot_be_written_is_known(printing):
    run, say = printing
    (run.attempt.folder / relative_path(1)).mkdir()
    for line in LINES:
        say(record(line))
    assert isinstance(say.spills.error, IsADirectoryError)
    say.outputs.settle()


@pytest.mark.parametrize(
    ("request_", "limit"),
    [({}, spill.LIMIT), ({"output_limit": 5}, 5), ({"output_limit": 0}, spill.LIMIT), ({"output_limit": True}, spill.LIMIT), ({"output_limit": "1"}, spill.LIMIT)],
)  # fmt: skip
def test_the_limit_may_be_set(request_, limit):
    assert limit_of(request_) == limit


def test_a_cut_through_a_character_or_a_bar_shows_nothing_broken(tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("训练\r" * 10_000 + "100%\n")
    for limit in range(20, 40):
        assert "\ufffd" not in spill.end(path, limit) and "\r" not in spill.end(path, limit)
    assert spill.end(tmp_path / "absent", 10) == ""


@pytest.mark.kernel
def test_a_run_that_prints_much(make_run):
    run = make_run("for n in range(20_000): print('line', n)\nprint('end')", "print('next'); 1/0", output_limit=50_000)
    exit_code, printed = run.start().end()
    assert exit_code == 1, printed
    outputs = run.notebook["cells"][0]["outputs"]
    assert [o["output_type"] for o in outputs] == ["stream", "display_data", "stream"]
    assert outputs[0]["text"].startswith("line 0\n") and outputs[2]["text"].endswith("line 19999\nend\n")
    text = (AttemptFolder(run.folder, 1).folder / "logs/cell-1.txt").read_text()
    assert text == "".join(f"line {n}\n" for n in range(20_000)) + "end\n"
    log = run.attempt.run_log.read_text()
    assert "logs/cell-1.txt" in log and "next\n" in log and "line 19999" not in log


@pytest.mark.kernel
def test_much_output_needs_no_memory(make_run):
    """Neither in the kernel, which waits for the runner, nor in the runner."""
    much = """
import os
def peak(pid):
    return int(open(f"/proc/{pid}/status").read().split("VmHWM:")[1].split()[0]) // 1024
before = peak("self"), peak(os.getppid())
for _ in range(300): print("\\n".join(["x" * 99] * 10_000))
"""
    run = make_run(much, "print(*before, peak('self'), peak(os.getppid()))", output_limit=1_000_000)
    exit_code, printed = run.start().end()
    assert exit_code == 0, printed
    kernel, runner, kernel_then, runner_then = map(int, run.text(1).split())
    assert kernel_then - kernel < 120 and runner_then - runner < 150  # of 300 MB
    assert (run.attempt.folder / "logs/cell-1.txt").stat().st_size == 300_000_000
