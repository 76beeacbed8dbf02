"""What preflight says of a notebook for the request that is made with it: time, nodes, mode, files beside it."""

import pytest

from siflab.notebook import Fix, Kernels, Surroundings, preflight
from siflab.text import Text
from tests.unit.notebook.documents import found, notebook


def fixes(folder, *cells, around=None, metadata=None):
    """(code, kind, text, field) of the findings that have a fix."""
    made = notebook(folder, *cells, metadata=metadata)
    findings = preflight(made, around or Surroundings())
    return [(one.code, one.fix.kind, one.fix.text, one.fix.field) for one in findings if one.fix]


@pytest.mark.parametrize(
    ("asked", "most", "expected"),
    [
        (7200, 3600, [("longer-than-partition", "set-field", "1:00:00", "time")]),
        (3600, 3600, []),
        (7200, None, []),
        (None, 3600, []),
    ],
)
def test_more_time_than_the_partition_gives(tmp_path, asked, most, expected):
    assert fixes(tmp_path, "1", around=Surroundings(time_seconds=asked, max_time=most)) == expected


@pytest.mark.parametrize(
    ("mode", "nodes", "codes"),
    [
        ("notebook", 2, ["first-node-only"]),
        ("notebook", 1, []),
        ("distributed", 2, []),
        ("sweep", 2, ["first-node-only"]),
    ],
)
def test_nodes_that_nothing_runs_on(tmp_path, mode, nodes, codes):
    assert [code for code, _, _ in found(tmp_path, "1", around=Surroundings(mode=mode, nodes=nodes))] == codes


DISTRIBUTED = {
    "%autosave 60\nx = 1": [("magic-not-distributed", 1)],
    "x = 1\nif x:\n    %connect_info": [("magic-not-distributed", 3)],
    "%%time\n%qtconsole": [("magic-not-distributed", 2)],
    "%matplotlib inline\n%time x = 1\n%load_ext autoreload": [],
    "x = '''\n%autosave 60\n'''\n!ls": [],
    "%%bash\n%less": [],
}


@pytest.mark.parametrize("source", DISTRIBUTED)
def test_magics_that_only_a_kernel_has(tmp_path, source):
    """R17: magics work in every mode, or are refused with the line."""
    distributed = found(tmp_path, source, around=Surroundings(mode="distributed", nodes=2))
    assert [(code, line) for code, _, line in distributed] == DISTRIBUTED[source]
    assert found(tmp_path, source, around=Surroundings()) == []


def test_such_a_magic_is_an_error_with_a_fix_where_nothing_is_lost(tmp_path):
    around = Surroundings(mode="distributed")
    assert fixes(tmp_path, "%autosave 60", around=around) == [("magic-not-distributed", "delete-line", "", None)]
    assert fixes(tmp_path, "if True:\n    %autosave 60", around=around) == [], "the block would be empty"
    assert fixes(tmp_path, "%less notes.txt", around=around) == []
    assert [one.severity for one in preflight(notebook(tmp_path, "%less x"), around)] == ["error"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("breakpoint()", [("asks-a-person", "delete-line", "", None)]),
        ("if x:\n    breakpoint()", [("asks-a-person", "replace-line", "    pass", None)]),
        ("if x: breakpoint()", []),
        ("y = input()", []),
        ("!pip install x", [("installs-packages", "replace-line", "# !pip install x", None)]),
        ("if x:\n    !pip install x", []),
        ("!pip install \\\n  x", []),
        ("%%bash\npip install x", []),
    ],
)
def test_fixes_of_lines(tmp_path, source, expected):
    assert fixes(tmp_path, "x = 1", source) == expected


def test_the_kernel_that_the_image_has(tmp_path):
    metadata = {"kernelspec": {"name": "conda-env-x-py", "language": "python"}}
    around = Surroundings(kernels=Kernels({"python3": "python"}))
    assert fixes(tmp_path, "1", around=around, metadata=metadata) == [("kernel-mapped", "set-kernel", "python3", None)]
    assert fixes(tmp_path, "1", metadata=metadata) == [], "the image's kernels are not known"


def test_a_fix_as_openapi_has_it():
    fix = Fix("set-field", "1", Text("one", "一"), "nodes")
    assert fix.as_dict() == {"kind": "set-field", "text": "1", "title": {"en": "one", "zh": "一"}, "field": "nodes"}


MISSING = [
    "open('gone.txt')", "with open('gone.txt', 'rb') as f:\n    f.read()", "import pandas as pd\npd.read_csv('data/gone.csv')",
    "import numpy as np\nfor i in [1]:\n    np.load('./gone.npy')", "import torch\ntorch.load('gone.pt', map_location='cpu')",
    "from PIL import Image\nImage.open('../gone.png')", "!ls\nopen('gone.txt', 'r+')",
]  # fmt: skip


@pytest.mark.parametrize("source", MISSING)
def test_a_file_that_is_not_beside_the_notebook(tmp_path, source):
    around = Surroundings(beside=lambda path: False)
    (finding,) = found(tmp_path, "1", source, source, around=around)
    assert finding[:2] == ("no-such-file", 1)


NOT_MISSING = [
    ["open('here.txt')"], ["open('gone.txt', 'w')"], ["open('gone.txt', mode='a')"], ["open('gone.txt', how)"],
    ["open('/gone/x.txt')"], ["open('~/gone.txt')"], ["open(f'gone.txt')"], ["open('LICENSE')"], ["open('a*.txt')"],
    ["def f():\n    open('gone.txt')"], ["if True:\n    open('gone.txt')"],
    ["try:\n    open('gone.txt')\nexcept OSError:\n    pass"],
    ["from contextlib import suppress\nwith suppress(OSError):\n    open('gone.txt')"],
    ["from pathlib import Path\nPath('gone.txt').write_text('x')", "open('gone.txt')"],
    ["import pandas as pd\npd.read_csv('https://example.org/gone.csv')"],
    ["import pandas as pd\npd.DataFrame().to_csv('gone.csv')", "pd.read_csv('gone.csv')"],
    ["OUT = 'results'", "open('results/gone.txt')"], ["%%writefile gone.txt\nx", "open('gone.txt')"],
    ["!wget https://example.org/gone.txt", "open('gone.txt')"], ["%cd ..", "open('gone.txt')"],
    ["import os\nos.chdir('..')", "open('gone.txt')"], ["%%bash\nmake", "open('gone.txt')"],
    ["import shutil\nshutil.copy('a', 'b')", "open('gone.txt')"], ["import zipfile\nzipfile.ZipFile('z').extractall()",
    "open('gone.txt')"],
]  # fmt: skip


@pytest.mark.parametrize("cells", NOT_MISSING, ids=lambda cells: cells[0][:40])
def test_a_file_that_is_there_or_may_come_to_be(tmp_path, cells):
    codes = [
        code for code, _, _ in found(tmp_path, *cells, around=Surroundings(beside=lambda path: path == "here.txt"))
    ]
    assert "no-such-file" not in codes


@pytest.mark.parametrize(
    "source",
    ["\n" * 200_000 + "x", "%run" + "\n " * 100_000, "open('" + "a" * 200_000 + ".txt')", "!" * 200_000, "'" * 200_000,
     "%%writefile " + "a" * 200_000, "x = '://" + "a:" * 100_000 + "'", "%time x\n" + "(" * 90 + "\\" * 200_000],
    ids=["blank", "run", "path", "bangs", "quotes", "file", "address", "marks"],
)  # fmt: skip
def test_a_hostile_cell_takes_a_time_that_grows_with_its_length(tmp_path, source):
    """With the square of it this test would take hours."""
    around = Surroundings(mode="distributed", beside=lambda path: False, has_module=lambda name: False)
    assert {cell for _, cell, _ in found(tmp_path, source, around=around)} <= {None, 0}
