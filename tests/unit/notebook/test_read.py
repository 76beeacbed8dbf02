"""Reading a notebook: what is good, and what each bad file is called."""

import hashlib
import json
import os

import pytest

from siflab.notebook import NotebookError, read_notebook
from siflab.notebook import read as reading
from tests.unit.notebook.documents import document, notebook


def test_cells_are_numbered_and_the_file_is_kept_as_it_was(tmp_path):
    path = tmp_path / "训练.ipynb"
    markdown = {"cell_type": "markdown", "source": ["# Title\n", "text"]}
    content = json.dumps(
        document("a = 1", markdown, {"source": ["b = 2\n", "c"], "metadata": {"tags": ["skip-execution", 7]}})
    ).encode()
    path.write_bytes(content)
    seen = read_notebook(str(path))
    assert seen.content == content
    assert seen.sha256 == hashlib.sha256(content).hexdigest()
    assert [(cell.index, cell.number, cell.source) for cell in seen.cells] == [
        (0, 1, "a = 1"),
        (1, None, "# Title\ntext"),
        (2, 2, "b = 2\nc"),
    ]
    assert seen.cells[2].tags == ("skip-execution",)
    assert [cell.index for cell in seen.code_cells] == [0, 2]


@pytest.mark.parametrize(
    ("metadata", "kernel", "language"),
    [
        ({"kernelspec": {"name": "python3", "language": "python"}}, "python3", "python"),
        (
            {"kernelspec": {"name": "conda-env-mine-py"}, "language_info": {"name": "Python"}},
            "conda-env-mine-py",
            "python",
        ),
        ({"kernelspec": {"name": "ir"}, "language_info": {"name": "R"}}, "ir", "r"),
        ({"kernelspec": {"name": "julia-1.9"}}, "julia-1.9", ""),
        ({}, None, "python"),
        ({"kernelspec": "odd", "language_info": 3}, None, "python"),
    ],
)
def test_kernel_and_language(tmp_path, metadata, kernel, language):
    seen = notebook(tmp_path, "1", metadata=metadata)
    assert (seen.kernel, seen.language) == (kernel, language)


def test_a_byte_order_mark_is_no_harm(tmp_path):
    path = tmp_path / "bom.ipynb"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(document("1")).encode())
    assert len(read_notebook(str(path)).cells) == 1


BAD = {
    "empty": (b"", "not-a-notebook", "empty"),
    "blank": (b" \n ", "not-a-notebook", "empty"),
    "half": (b'{"cells": [', "not-a-notebook", "line 1, column"),
    "text": (b"print(1)", "not-a-notebook", "JSON"),
    "bytes": (b"\xff\xfe\x00", "not-a-notebook", "UTF-8"),
    "list": (b"[]", "not-a-notebook", "nbformat"),
    "no format": (b'{"cells": []}', "not-a-notebook", "nbformat"),
    "format 3": (b'{"nbformat": 3, "worksheets": []}', "notebook-format", "JupyterLab"),
    "format 5": (b'{"nbformat": 5, "cells": []}', "notebook-format", "format 5"),
    "no cells": (b'{"nbformat": 4, "metadata": {}}', "not-a-notebook", "list of cells"),
    "odd cells": (b'{"nbformat": 4, "cells": {"a": 1}}', "not-a-notebook", "list of cells"),
    "odd cell": (b'{"nbformat": 4, "cells": [{"cell_type": "code"}, 7]}', "not-a-notebook", "cell 2"),
    "odd type": (b'{"nbformat": 4, "cells": [{"cell_type": "heading"}]}', "not-a-notebook", "cell 1"),
    "deep": (b"[" * 200_000, "not-a-notebook", "nested"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_named_for_what_it_is(tmp_path, name):
    content, code, words = BAD[name]
    path = tmp_path / "bad.ipynb"
    path.write_bytes(content)
    with pytest.raises(NotebookError) as caught:
        read_notebook(str(path))
    error = caught.value.error
    assert (error.field, error.code) == ("path", code)
    assert words in error.message.en
    assert error.message.zh != error.message.en


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.ipynb")
    (tmp_path / "folder.ipynb").mkdir()
    (tmp_path / "loop.ipynb").symlink_to(tmp_path / "loop.ipynb")
    codes = {}
    for name in ("pipe.ipynb", "folder.ipynb", "loop.ipynb", "none.ipynb", "x" * 300, "nul\0.ipynb"):
        with pytest.raises(NotebookError) as caught:
            read_notebook(str(tmp_path / name))
        codes[name[:4]] = caught.value.error.code
    assert codes == {"pipe": "not-a-file", "fold": "not-a-file", "loop": "unreadable", "none": "not-found",
                     "xxxx": "unreadable", "nul\0": "unreadable"}  # fmt: skip


def test_a_huge_file_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "SIZE_LIMIT", 1024 * 1024)
    path = tmp_path / "huge.ipynb"
    path.write_bytes(b" " * (1024 * 1024 + 1))
    with pytest.raises(NotebookError) as caught:
        read_notebook(str(path))
    assert caught.value.error.code == "notebook-too-large"
    assert "clear its outputs" in caught.value.error.message.en
