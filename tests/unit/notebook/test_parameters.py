"""Parameters: what the tagged cell says, and which values fit."""

import pytest

from siflab.errors import Invalid
from siflab.notebook.parameters import check_parameters, find_parameters
from tests.unit.notebook.documents import notebook

CELL = """\
# how to train
epochs = 10  # how often all data is seen
rate: float = 1e-3
name = "a b"  # type: str of the run
use_amp = True
sizes = [1, 2]  # type: List[int]
options = {"a": None}
seed: int = None
path = DATA / "x"  # where
where = None  # type: float
%matplotlib inline
a, b = 1, 2
epochs = 20  # twice: the last counts
"""


@pytest.fixture
def tagged(tmp_path):
    return notebook(tmp_path, "import os", {"source": CELL, "metadata": {"tags": ["parameters"]}})


def test_names_types_defaults_and_comments(tagged):
    found = {one.name: (one.kind, one.default, one.value, one.help) for one in find_parameters(tagged)}
    assert found == {
        "epochs": ("int", "20", 20, "twice: the last counts"),
        "rate": ("float", "0.001", 0.001, ""),
        "name": ("str", "'a b'", "a b", "of the run"),
        "use_amp": ("bool", "True", True, ""),
        "sizes": ("list", "[1, 2]", [1, 2], ""),
        "options": ("dict", "{'a': None}", {"a": None}, ""),
        "seed": ("int", "None", None, ""),
        "path": ("any", "DATA / 'x'", None, "where"),
        "where": ("float", "None", None, ""),
    }
    assert {(one.cell, one.line) for one in find_parameters(tagged)} >= {(1, 3), (1, 13)}


@pytest.mark.parametrize(
    "cell",
    [
        "epochs = 1",
        {"source": "epochs = ", "metadata": {"tags": ["parameters"]}},
        {"source": "", "metadata": {"tags": 7}},
    ],
    ids=["no tag", "no Python", "odd tags"],
)
def test_a_notebook_without(tmp_path, cell):
    assert find_parameters(notebook(tmp_path, cell)) == []


GOOD = [
    ("epochs", "3", 3), ("epochs", 3.0, 3), ("rate", "1e-4", 1e-4), ("rate", 2, 2.0), ("name", "10", "10"), ("name", 10, "10"),
    ("use_amp", "no", False), ("use_amp", False, False), ("sizes", "[3, 4]", [3, 4]), ("sizes", "(3, 4)", [3, 4]),
    ("options", '{"b": [1]}', {"b": [1]}), ("seed", None, None), ("path", "plain text", "plain text"), ("path", "7", 7),
    ("epochs", None, None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "expected"), GOOD)
def test_a_value_takes_its_parameters_type(tagged, name, value, expected):
    checked = check_parameters(tagged, {name: value})
    assert checked == {name: expected} and type(checked[name]) is type(expected)


BAD = [
    ("epochs", "3.5", "wrong-type"), ("epochs", True, "wrong-type"), ("epochs", "٣ x", "wrong-type"), ("rate", "fast", "wrong-type"),
    ("use_amp", 1, "wrong-type"), ("sizes", "3", "wrong-type"), ("sizes", "__import__('os')", "wrong-type"),
    ("options", [1], "wrong-type"), ("name", [1], "wrong-type"), ("epoch", 1, "unknown-parameter"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "code"), BAD)
def test_a_value_that_does_not_fit_is_said_at_its_place(tagged, name, value, code):
    with pytest.raises(Invalid) as caught:
        check_parameters(tagged, {"rate": 1, name: value})
    (error,) = caught.value.errors
    assert (error.field, error.code) == (f"parameters.{name}", code)
    assert error.message.zh != error.message.en


def test_a_name_that_is_nearly_right_is_asked_back(tagged):
    with pytest.raises(Invalid, match="did you mean epochs"):
        check_parameters(tagged, {"epoch": 1})


def test_another_language(tmp_path):
    other = notebook(tmp_path, "x <- 1", metadata={"kernelspec": {"name": "ir", "language": "R"}})
    with pytest.raises(Invalid, match="in r"):
        check_parameters(other, {"x": 1})
