"""What other tools read of an executed notebook: papermill's keys, nbformat's schema, nbconvert's page."""

from datetime import datetime

import nbformat
import pytest
from nbconvert import HTMLExporter

from siflab.inside import papermill_metadata, recover
from siflab.inside.journal import Journal
from siflab.inside.notebook import blank, set_state

AT, LATER = "2030-01-01T08:00:00.000+08:00", "2030-01-01T08:00:02.500+08:00"

STATES = [
    # state of the cell, papermill's status, exception, whether it has times
    ("done", "completed", False, True),
    ("failed", "failed", True, True),
    ("killed", "failed", True, True),
    ("stopped", "failed", True, True),
    ("skipped", "pending", None, False),
]


@pytest.mark.parametrize(("state", "status", "exception", "timed"), STATES)
def test_a_cells_state_in_papermills_words(notebook, state, status, exception, timed):
    made = notebook("1")
    blank(made)
    if timed:
        set_state(made, 0, "running", AT)
        assert made["cells"][0]["metadata"]["papermill"]["status"] == "running"
    set_state(made, 0, state, LATER)
    about = made["cells"][0]["metadata"]["papermill"]
    times = ("2030-01-01T00:00:00+00:00", "2030-01-01T00:00:02.500000+00:00", 2.5) if timed else (None, None, None)
    assert (about["status"], about["exception"]) == (status, exception)
    assert (about["start_time"], about["end_time"], about["duration"]) == times


@pytest.mark.parametrize(("status", "exception"), [("completed", None), ("failed", True), ("killed", True)])
def test_the_notebooks_own(notebook, status, exception):
    made = notebook("1")
    made["metadata"]["papermill"] = {"exception": "of an earlier run"}
    papermill_metadata.begin(made, "1.0", "/a.ipynb", "/b.ipynb", {"lr": 0.1}, AT)
    papermill_metadata.end(made, status, LATER)
    about = made["metadata"]["papermill"]
    assert (about["exception"], about["duration"], about["parameters"]) == (exception, 2.5, {"lr": 0.1})
    assert set(about) == {
        "default_parameters", "parameters", "environment_variables", "version", "input_path", "output_path", "start_time",
        "end_time", "duration", "exception",
    }  # fmt: skip


@pytest.mark.parametrize(
    "hostile", [{}, {"papermill": 5}, {"papermill": {"start_time": 5}}, {"papermill": {"start_time": "x"}}]
)
def test_what_a_notebook_brings_breaks_nothing(notebook, hostile):
    made = notebook("1")
    made["metadata"].update(hostile)
    papermill_metadata.end(made, "failed", "no time")
    made["cells"][0]["metadata"]["siflab"] = {}
    set_state(made, 0, "done", "no time")


@pytest.mark.kernel
def test_a_run_can_be_read_by_others(make_run):
    cells = ["import ipywidgets; b = ipywidgets.IntProgress(value=3); b", "print('\\x1b[31m<b>red</b>')", ("1/0", "raises-exception"), ("2", "skip-execution"), "1/0", "3"]  # fmt: skip
    run = make_run(*cells, parameters={"lr": 0.1})
    run.start().end()
    notebook = nbformat.read(run.attempt.output, 4)
    nbformat.validate(notebook)
    about = notebook.metadata.papermill
    assert (about.exception, about.parameters, about.input_path) == (True, {"lr": 0.1}, "/x.ipynb")
    took = [datetime.fromisoformat(about[name]) for name in ("start_time", "end_time")]
    assert (took[1] - took[0]).total_seconds() == about.duration
    of_cells = [cell.metadata.papermill for cell in notebook.cells]
    assert [each.status for each in of_cells] == ["completed", "completed", "completed", "completed", "pending", "failed", "pending"]  # fmt: skip
    assert all((each.duration is not None) == (each.status != "pending") for each in of_cells)

    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "&lt;b&gt;red&lt;/b&gt;" in page and "ZeroDivisionError" in page
    assert "application/vnd.jupyter.widget-state+json" in page and "IntProgressModel" in page


def test_a_recovered_one_too(make_run):
    run = make_run("1", "2")
    run.attempt.make()
    journal = Journal(run.attempt.journal)
    journal.mark("begin", version=1)
    journal.mark("start", 0)
    journal.append(
        {"type": "stream", "cell": 0, "at": LATER, "parent": "p", "content": {"name": "stdout", "text": "x"}}
    )
    journal.close()
    recover(run.folder, 1)
    notebook = nbformat.read(run.attempt.output, 4)
    nbformat.validate(notebook)
    first, second = (cell.metadata.papermill for cell in notebook.cells)
    assert (first.status, first.exception, second.status) == ("failed", True, "pending")
    assert first.end_time == "2030-01-01T00:00:02.500000+00:00"  # when it was last heard of
    assert "x" in HTMLExporter().from_notebook_node(notebook)[0]
