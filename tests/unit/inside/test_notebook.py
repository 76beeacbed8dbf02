"""Reading the notebook to run."""

import json

import pytest

from siflab.inside.notebook import BadNotebook, blank, read_notebook

BAD = [
    ("", "not JSON"),
    ("{", "not JSON"),
    (b"\xff\xfe{}", "not JSON"),
    ("[]", "no nbformat"),
    ('{"nbformat": 4}', "no list of cells"),
    ('{"nbformat": 4, "cells": [1]}', "cell 1 is of no known type"),
    ('{"nbformat": 4, "cells": [{"cell_type": "heading"}]}', "cell 1 is of no known type"),
]


@pytest.mark.parametrize(("text", "why"), BAD)
def test_what_is_no_notebook_is_refused_with_the_reason(tmp_path, text, why):
    path = tmp_path / "input.ipynb"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadNotebook, match=why):
        read_notebook(path)


def test_a_sparse_notebook_is_completed(tmp_path):
    path = tmp_path / "input.ipynb"
    cells = [{"cell_type": "markdown", "source": ["a\n", "b"]}, {"cell_type": "code", "source": ["x = 1\n", "x"]}]
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps({"nbformat": 4, "nbformat_minor": 5, "cells": cells}).encode())
    notebook = read_notebook(path)
    assert [cell["source"] for cell in notebook["cells"]] == ["a\nb", "x = 1\nx"]
    assert (notebook["cells"][1]["outputs"], notebook["cells"][1]["execution_count"]) == ([], None)
    assert len({cell["id"] for cell in notebook["cells"]}) == 2
    assert read_notebook(path) == notebook


def test_format_3_is_converted(tmp_path):
    path = tmp_path / "input.ipynb"
    cell = {
        "cell_type": "code",
        "language": "python",
        "input": ["1"],
        "outputs": [],
        "metadata": {},
        "collapsed": False,
    }
    old = {
        "nbformat": 3,
        "nbformat_minor": 0,
        "metadata": {"name": ""},
        "worksheets": [{"cells": [cell], "metadata": {}}],
    }
    path.write_text(json.dumps(old))
    notebook = read_notebook(path)
    assert (notebook["nbformat"], notebook["cells"][0]["source"]) == (4, "1")


def test_blank_takes_every_trace_of_an_earlier_run(notebook):
    made = notebook("1", ("2", "kept"))
    made["metadata"]["widgets"] = {"x": 1}
    first, second = made["cells"]
    first.update(execution_count=3, outputs=[{"output_type": "stream", "name": "stdout", "text": "old"}])
    first["metadata"] = {"execution": {"x": "y"}, "siflab": {"status": "done", "ended_at": "then"}}
    blank(made)
    assert (first["outputs"], first["execution_count"], "widgets" in made["metadata"]) == ([], None, False)
    assert first["metadata"].pop("papermill")["status"] == "pending"
    assert first["metadata"] == {"siflab": {"status": "not run", "number": 1}}
    assert second["metadata"].pop("papermill")["status"] == "pending"
    assert second["metadata"] == {"tags": ["kept"], "siflab": {"status": "not run", "number": 2}}
