"""Values in a notebook that runs: where they stand, and that they are literals whatever they hold."""

import ast
import json

import pytest

from siflab.inside import AttemptFolder
from siflab.inside.notebook import BadNotebook
from siflab.inside.parameters import arguments_of, inject, literal, values_of
from tests.unit.inside.conftest import notebook_of


def sources(notebook):
    return [cell["source"] for cell in notebook["cells"]]


def test_after_the_tagged_cell_or_before_all_others():
    tagged = notebook_of("import os", ("x = 1", "parameters"), "print(x)")
    assert inject(tagged, {"x": 2}) == 2
    assert sources(tagged) == ["import os", "x = 1", "# Parameters\nx = 2", "print(x)"]
    assert tagged["cells"][2]["metadata"]["tags"] == ["injected-parameters"] and tagged["cells"][2]["id"]
    assert inject(tagged, {"x": 3}) == 2, "one that was injected before is replaced"
    assert sources(tagged)[2] == "# Parameters\nx = 3" and len(tagged["cells"]) == 4
    plain = notebook_of("print(x)")
    assert inject(plain, {"x": 1}) == 0
    assert inject(plain, {}) is None and len(plain["cells"]) == 2


@pytest.mark.parametrize(
    "value",
    [1, -1.5, True, None, 'it\'s "quoted"\n\\ $(x) {y}', [1, [None]], {"a b": {"c": [False]}}, "'''", "\ud800"],
)
def test_a_value_is_written_as_a_literal(value):
    assert ast.literal_eval(literal(value)) == value


def test_what_is_no_number_is_one_in_python():
    assert eval(literal([float("inf"), float("-inf")])) == [float("inf"), float("-inf")]


def test_a_points_values_go_over_the_runs(make_run):
    folder = make_run("x", parameters={"x": 1, "y": 1}).folder
    points = [{"number": 0, "parameters": {"y": 2}}, {"number": 5, "parameters": {"z": 3}}]
    (folder / "points.json").write_text(json.dumps({"points": points}))
    request = json.loads((folder / "request.json").read_text())
    assert values_of(AttemptFolder(folder, 1), request) == {"x": 1, "y": 1}
    assert values_of(AttemptFolder(folder, 1, 0), request) == {"x": 1, "y": 2}
    assert values_of(AttemptFolder(folder, 1, 5), request) == {"x": 1, "y": 1, "z": 3}
    with pytest.raises(BadNotebook, match="no point 1"):
        values_of(AttemptFolder(folder, 1, 1), request)


def test_the_notebook_runs_with_them(make_run):
    """R7: a text is a text, not code."""
    run = make_run(
        ("word = 'a'\nnumber = 1", "parameters"),
        "print(word, number + 1)",
        parameters={"word": "__import__('os').abort()", "number": 41},
    )
    assert run.start().end()[0] == 0
    assert run.text(2) == "__import__('os').abort() 42\n"
    assert json.loads((run.folder / "input.ipynb").read_text()) == notebook_of(
        ("word = 'a'\nnumber = 1", "parameters"), "print(word, number + 1)"
    )


def test_a_scripts_points_are_arguments():
    assert arguments_of({"lr": 0.1, "amp": True, "name": "a b"}) == ["--lr=0.1", "--amp=true", "--name=a b"]
