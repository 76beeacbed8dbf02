"""What preflight finds, and what it leaves alone: tables of cells."""

import json
import sys

import pytest

from siflab.notebook import Kernels, Surroundings, preflight
from siflab.notebook.kernels import kernels_here
from siflab.notebook.magics import plain_python, syntax_tree
from tests.unit.notebook.documents import found as all_found
from tests.unit.notebook.documents import notebook

ELSEWHERE = ("name-without-cell", "used-before-made", "secret-in-code", "syntax-error")  # test_hidden_state.py


def found(*arguments, **more):
    return [finding for finding in all_found(*arguments, **more) if finding[0] not in ELSEWHERE]


LONG = 200_000
ASKING = [
    ("name = input('name')", 1),
    ("x = 1\n\npassword = getpass.getpass()", 3),
    ("from getpass import getpass\ntoken = getpass('token')", 2),
    ("%matplotlib inline\n!ls\nfor i in range(3):\n    input()", 4),
    ("%%time\ninput()", 2),
    ("files = !ls\nawait something()\nbreakpoint()", 3),
    ("import pdb; pdb.set_trace()", 1),
]


@pytest.mark.parametrize(("source", "line"), ASKING)
def test_a_question_to_a_person(tmp_path, source, line):
    assert found(tmp_path, "a = 1", source) == [("asks-a-person", 1, line)]


def test_a_question_only_if_something_is_missing(tmp_path):
    source = "import os, getpass\nif 'KEY' not in os.environ:\n    os.environ['KEY'] = getpass.getpass()"
    (finding,) = preflight(notebook(tmp_path, source), Surroundings())
    assert (finding.code, finding.severity, finding.line) == ("asks-a-person", "info", 3)


@pytest.mark.parametrize(
    "source",
    [
        "# input()",
        "text = 'input()'",
        "def input(prompt): return 'x'\ninput('a')",
        "from mine import input\ninput()",
        "model.input()",
        "input = data[0]\nprint(input(3))",
        "def f(input): return input(2)",
        "%%bash\nread input()",
        "torch.nn.Linear(in_features=input_size, out_features=1)",
        "%%html\n<input()>",
        "this is no python input()",
    ],
)
def test_no_question(tmp_path, source):
    assert found(tmp_path, source) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("!pip install torch", 1),
        ("import x\n%pip install -q torch", 2),
        ("! pip3 install torch", 1),
        ("!{sys.executable} -m pip install torch", 1),
        ("!python3 -m pip install torch", 1),
        ("%conda install -y x", 1),
        ("!sudo apt-get -y install graphviz", 1),
        ("!!uv pip install x", 1),
        ("%%bash\nset -e\npip install x", 3),
        ("    !mamba install x", 1),
        ("pip install x", 1),
    ],
)
def test_installing(tmp_path, source, line):
    assert found(tmp_path, source) == [("installs-packages", 0, line)]


@pytest.mark.parametrize(
    ("source", "severity"),
    [
        ("try:\n    import x\nexcept ImportError:\n    !pip install x", "info"),
        ("if 'google.colab' in str(get_ipython()):\n    %pip install x", "info"),
        ("for name in ['x']:\n    !pip install {name}", "warning"),
        ("try:\n    !pip install x\nfinally:\n    pass", "warning"),
    ],
)
def test_installing_only_what_is_missing(tmp_path, source, severity):
    findings = preflight(notebook(tmp_path, source), Surroundings())
    assert [one.severity for one in findings if one.code == "installs-packages"] == [severity]


@pytest.mark.parametrize(
    "source",
    [
        "# !pip install torch",
        "!pip list",
        "!pip show install",
        "print('pip install x')",
        "%%bash\n# pip install x",
        "!echo pip install",
        "x = 1\npip install x",
    ],
)
def test_not_installing(tmp_path, source):
    assert found(tmp_path, source) == []


def around(kernels=None, **more):
    """A session: /workspace is bound, /tmp is the node's; what exists is listed."""
    there = {
        "/tmp/data.csv",
        "/workspace/user1/data.csv",
        "/home/user1/data.csv",
        "/srv/data/x.csv",
        "/usr/share/dict/words",
        "/etc/hosts",
    }

    def in_job(path):
        if path.startswith("/home/"):
            return "/workspace/" + path.removeprefix("/home/")
        return path if path.startswith("/workspace/") else None

    return Surroundings(kernels=kernels, exists=there.__contains__, in_job=in_job, **more)


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("pd.read_csv('/tmp/data.csv')", "path-node-local"),
        ("open('/srv/data/x.csv')", "path-not-bound"),
        ("open('/home/user1/data.csv')", "path-elsewhere"),
        ("pd.read_csv('/workspace/user1/data.csv')", None),
        ("open('/tmp/yet-to-be-written.csv', 'w')", None),
        ("open('/usr/share/dict/words'); open('/etc/hosts')", None),
        ("url = '/api/v1/items'", None),
        ("open('data.csv')", None),
        ("x = '/'", None),
    ],
)
def test_paths_that_the_job_will_not_see(tmp_path, source, code):
    expected = [] if code is None else [(code, 0, 1)]
    assert found(tmp_path, source, around=around()) == expected


def test_a_path_is_said_once_a_cell(tmp_path):
    source = "open('/tmp/data.csv')\nopen('/tmp/data.csv')"
    assert found(tmp_path, source, source, around=around()) == [("path-node-local", 0, 1), ("path-node-local", 1, 1)]


IMAGE = Kernels({"python3": "python", "ir": "r", "python-old": "python"})


@pytest.mark.parametrize(
    ("metadata", "kernel", "kernels", "expected"),
    [
        ({"kernelspec": {"name": "python3", "language": "python"}}, None, IMAGE, []),
        ({"kernelspec": {"name": "Python3", "language": "python"}}, None, IMAGE, []),
        ({"kernelspec": {"name": "conda-env-x-py", "language": "python"}}, None, IMAGE, [("kernel-mapped", "info")]),
        ({"kernelspec": {"name": "R4", "language": "R"}}, None, IMAGE, [("kernel-mapped", "info")]),
        ({"kernelspec": {"name": "julia-1.9", "language": "julia"}}, None, IMAGE, [("no-such-kernel", "error")]),
        ({}, None, IMAGE, []),
        ({}, "ir", IMAGE, []),
        ({}, "julia", IMAGE, [("no-such-kernel", "error")]),
        ({"kernelspec": {"name": "conda-env-x-py", "language": "python"}}, None, None, [("kernel-mapped", "info")]),
        ({"kernelspec": {"name": "julia-1.9", "language": "julia"}}, None, None, []),
        ({"kernelspec": {"name": "julia-1.9", "language": "julia"}}, "anything", None, []),
    ],
)
def test_kernels(tmp_path, metadata, kernel, kernels, expected):
    findings = preflight(notebook(tmp_path, "1", metadata=metadata), Surroundings(kernel=kernel, kernels=kernels))
    assert [(finding.code, finding.severity) for finding in findings] == expected


def test_the_kernels_that_are_here(tmp_path, monkeypatch):
    for name, text in {"python3": '{"language": "python"}', "IR": '{"language": "R"}', "bad": "{", "odd": "[]"}.items():
        (tmp_path / "kernels" / name).mkdir(parents=True)
        (tmp_path / "kernels" / name / "kernel.json").write_text(text)
    assert kernels_here([tmp_path, tmp_path / "none"]).languages == {"python3": "python", "ir": "r"}
    elsewhere = {"language": "python", "argv": ["/opt/conda/bin/python", "-m", "ipykernel_launcher"]}
    for name, about in {"conda": elsewhere, "here": {**elsewhere, "argv": [sys.executable]}}.items():
        (tmp_path / "kernels" / name).mkdir()
        (tmp_path / "kernels" / name / "kernel.json").write_text(json.dumps(about))
    seen = kernels_here([tmp_path])
    assert [name for name in sorted(seen.languages) if not seen.is_this_python(name)] == ["conda"]
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    assert kernels_here().languages["ir"] == "r"


def test_the_whole_notebook(tmp_path):
    assert found(tmp_path, {"source": "  ", "execution_count": None}) == [("no-code", None, None)]
    assert found(tmp_path, {"cell_type": "markdown", "source": "# only words"}) == [("no-code", None, None)]
    assert found(tmp_path, {"source": "1", "execution_count": None}) == [("never-executed", None, None)]
    assert found(tmp_path, "1", around=Surroundings(nodes=2)) == [("first-node-only", None, None)]


def test_a_cell_that_is_skipped_is_not_looked_at(tmp_path):
    assert found(tmp_path, "1", {"source": "input()", "metadata": {"tags": ["skip-execution"]}}) == []


@pytest.mark.parametrize(
    "cell",
    [
        {"source": "input()", "metadata": {"tags": ["siflab-ignore"]}},
        {"source": "input()", "metadata": {"tags": ["siflab-ignore:asks-a-person"]}},
        "x = input()  # siflab-ignore",
        "x = input()  # siflab-ignore: asks-a-person",
    ],
)
def test_a_finding_can_be_silenced(tmp_path, cell):
    assert found(tmp_path, cell) == []


def test_but_no_other_one(tmp_path):
    assert found(tmp_path, "x = input()  # siflab-ignore: installs-packages") == [("asks-a-person", 0, 1)]


def test_another_language_is_not_read_as_python(tmp_path):
    metadata = {"kernelspec": {"name": "ir", "language": "R"}}
    assert preflight(notebook(tmp_path, "x <- input()", metadata=metadata), Surroundings()) == []


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if a:\n    !ls \\\n  -l\n    b()", "if a:\n    pass\n\n    b()"),
        ("x, y = %magic a\nz = !ls | wc", "x, y = None\nz = None"),
        ("df.head?\n?df", "pass\npass"),
        ("%%capture out\nx = 1", "pass\nx = 1"),
        ("%%writefile a.py\nx = (", None),
        ("x = 5 % 3\ny != 4", "x = 5 % 3\ny != 4"),
        ("a.b , _c, = !ls\nd=%x", "a.b , _c, = None\nd=None"),
    ],
)
def test_magics(source, plain):
    assert plain_python(source) == plain
    assert plain is None or plain.count("\n") == source.count("\n"), "lines stay where they are"
    assert (syntax_tree(source) is None) == (plain is None)


@pytest.mark.parametrize("line", ["a == !b", "a b = !c", "a,, = !d", "= !e", "a = !=f", "1a = !g"])
def test_what_assigns_no_command_is_left_as_it_is(line):
    assert plain_python(line) == line


@pytest.mark.parametrize(
    "line",
    [
        "a" + " " * LONG + "b",
        "a" + " ," * LONG + "b",
        "a" + ", a" * (LONG // 10) + " b",
        "a" * LONG + " b",
        "a=" + " " * LONG + "b",
        " " * LONG + "b c",
        "a?" + " " * LONG + "b",
        "!" + " " * LONG + "b",
        "!" + "python" * LONG + " b",
        "!sudo" + " " * LONG + "b",
        "!python" + " " * LONG + "-m" + " " * LONG + "b",
        "!pip" + " -q" * LONG + " b",
        "!pip " + "-" * LONG + " b",
        "input() #" + " " * LONG + "b",
        "input() " + "# " * LONG + "b",
    ],
    ids=lambda line: line.replace("  ", "")[:20],
)
def test_a_long_line_is_read_in_a_time_that_grows_with_its_length(tmp_path, line):
    """With the square of it this test would take minutes, and hours."""
    findings = preflight(notebook(tmp_path, line), around())
    assert {finding.cell for finding in findings} <= {None, 0}


@pytest.mark.parametrize(
    "cells",
    [["x = 1\n" * 100_000], ["a, " * 200_000 + "= !ls"], ["x = input()\n" * 300] * 200, ["a = b\n" * 500] * 300],
)
def test_more_code_than_a_person_writes_is_not_looked_at(tmp_path, cells):
    assert [code for code, *_ in found(tmp_path, *cells)] == ["too-large-to-check"]


@pytest.mark.parametrize(
    ("count", "listed", "rest"), [(99, 99, None), (100, 100, None), (101, 100, 1), (5000, 100, 4900)]
)
def test_a_long_list_is_cut_and_says_so(tmp_path, count, listed, rest):
    findings = preflight(notebook(tmp_path, "x = input()\n" * count, "import os"), Surroundings())
    questions = [one for one in findings if one.code == "asks-a-person"]
    assert len(questions) == listed and questions[0].line == 1
    said = questions[-1].message.en.endswith(f"(and {rest} more of this kind)")
    assert said is (rest is not None)
