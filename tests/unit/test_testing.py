"""The fixture for people's own tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from siflab.testing import NotebookFailed, run_notebook  # noqa: F401
from tests.unit.inside.conftest import notebook_of

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def notebook(tmp_path):
    def make(*cells):
        path = tmp_path / "train.ipynb"
        path.write_text(json.dumps(notebook_of(*cells)))
        return path

    return make


def test_a_notebook_with_parameters_and_values(notebook, run_notebook):  # noqa: F811
    path = notebook(
        ("epochs = 10", "parameters"), "import os, siflab\nsiflab.record(loss=epochs / 2)\nprint(os.getcwd())"
    )
    before = path.read_bytes()
    done = run_notebook(path, parameters={"epochs": 1})
    assert (done.status, done.values) == ("completed", {"loss": 0.5})
    assert done.text(2) == f"{path.parent}\n" and path.read_bytes() == before
    assert run_notebook(path).values == {"loss": 5.0}, "each in a folder of its own"


def test_a_failure_is_the_tests_own(notebook, run_notebook):  # noqa: F811
    path = notebook("x = 1", "y = 2\nraise ValueError('boom')")
    with pytest.raises(NotebookFailed, match="cell 2, line 2: ValueError: boom") as caught:
        run_notebook(path)
    assert caught.value.done.exit_code == 1
    assert run_notebook(path, check=False).error.ename == "ValueError"


def test_a_test_file_of_somebodys_own(tmp_path, notebook):
    notebook("import siflab\nsiflab.record(loss=0.5)")
    (tmp_path / "conftest.py").write_text("pytest_plugins = ['siflab.testing']")
    (tmp_path / "test_it.py").write_text(
        "def test_it(run_notebook):\n    assert run_notebook('train.ipynb').values['loss'] < 1"
    )
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir", str(tmp_path), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert "1 passed" in done.stdout, done.stdout + done.stderr
