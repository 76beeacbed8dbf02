"""The example notebooks as they are committed."""

from pathlib import Path

import nbformat
import pytest

EXAMPLES = sorted((Path(__file__).parents[3] / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_committed_clean(path):
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor, notebook.metadata.kernelspec.name) == (4, 5, "python3")
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert [cell.metadata.get("tags") for cell in code].count(["parameters"]) == 1
    for cell in code:
        compile(cell.source, path.name, "exec")


def test_the_examples_are_there():
    assert [path.name for path in EXAMPLES] == ["ddp.ipynb", "hello.ipynb", "train.ipynb"]
