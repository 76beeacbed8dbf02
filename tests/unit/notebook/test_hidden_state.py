"""What a run from top to bottom would miss, and what is no mistake."""

import pytest

from siflab.notebook import Kernels, Surroundings
from tests.unit.notebook.documents import found

CODES = (
    "used-before-made",
    "name-without-cell",
    "out-of-order",
    "no-such-module",
    "needs-a-browser",
    "secret-in-code",
    "secret-in-output",
)


def of(findings):
    return [finding for finding in findings if finding[0] in CODES]


MISSING = {
    "made below": (["print(x)", "x = 1"], [("used-before-made", 0, 1)]),
    "made nowhere": (["y = 1\nprint(x)"], [("name-without-cell", 0, 2)]),
    "made later in the cell": (["print(x)\nx = 1"], [("used-before-made", 0, 1)]),
    "in a comprehension": (["[a + x for a in range(3)]"], [("name-without-cell", 0, 1)]),
    "in a default": (["def f(a=x):\n    return a"], [("name-without-cell", 0, 1)]),
    "as a decorator": (["@wraps\ndef f(): pass"], [("name-without-cell", 0, 1)]),
    "as a base": (["class A(Base): pass"], [("name-without-cell", 0, 1)]),
    "added to": (["total += 1"], [("name-without-cell", 0, 1)]),
    "in a loop": (["for i in items:\n    print(i)"], [("name-without-cell", 0, 1)]),
    "an attribute": (["model.fit()"], [("name-without-cell", 0, 1)]),
    "said once": (["print(x)", "print(x)"], [("name-without-cell", 0, 1)]),
    "in a timed statement": (["%time y = x"], [("name-without-cell", 0, 1)]),
    "timeit keeps nothing": (["%timeit x = 1", "print(x)"], [("name-without-cell", 1, 1)]),
    "after a magic": (["%matplotlib inline\nprint(x)"], [("name-without-cell", 0, 2)]),
    "an extension that makes no names": (["%load_ext autoreload\nprint(x)"], [("name-without-cell", 0, 2)]),
    "evaluated": (["eval('1')\nprint(x)"], [("name-without-cell", 0, 2)]),
    "pasted with prompts": ([">>> y = 1\n>>> x + y"], [("name-without-cell", 0, 2)]),
}


@pytest.mark.parametrize("case", MISSING)
def test_names_that_a_run_would_miss(tmp_path, case):
    cells, expected = MISSING[case]
    assert of(found(tmp_path, *cells)) == expected


FINE = {
    "in order": ["import os, numpy as np\nx = 1", "print(x, os.name, np.pi)"],
    "a function's body runs later": ["def f():\n    return later + 1", "later = 1\nf()"],
    "a method's too": ["class A:\n    def f(self):\n        return later"],
    "a lambda": ["f = lambda a: a + later"],
    "builtins and IPython": ["print(len([1]), __name__, In, Out, _, _12, _i3)\ndisplay(1)\nget_ipython()"],
    "a loop's target": ["for i, (a, *b) in []:\n    print(i, a, b)\nprint(i)"],
    "with": ["with open('x') as f, open('y') as (g):\n    print(f, g)"],
    "walrus": ["if (n := 3) > 2:\n    print(n)\nprint([y := 1, y])"],
    "comprehensions": ["x = [[a * b for a in c if a] for b, c in []]\n{k: v for k, v in {}.items()}"],
    "global": ["def f():\n    global g\n    g = 1\nf()", "print(g)"],
    "star import": ["from math import *", "print(sin(1))"],
    "run": ["%run other.py", "print(anything)"],
    "an extension": ["%load_ext sql", "print(anything)"],
    "exec": ["exec('x = 1')", "print(x)"],
    "capture": ["%%capture out\nprint(1)", "out.show()"],
    "indented as a whole": ["  x = 1\n  y = 2", "print(x, y)"],
    "after a cell that is no Python": ["x = # your code", "print(x)"],
    "timed": ["%time x = 1", "print(x)"],
    "a command's output": ["files = !ls", "print(files)"],
    "ready for it": ["try:\n    x\nexcept NameError:\n    x = 1", "print(x)"],
    "except as": ["try:\n    1\nexcept ValueError as error:\n    print(error)"],
    "annotated": ["x: int = 1", "print(x)"],
    "match": [
        "value = 1\nmatch value:\n    case {'a': b, **rest}:\n        print(b, rest)\n    case [c, *d]:\n        print(c, d)"
    ],
    "one of two branches": ["import sys\nif sys.argv:\n    x = 1\nelse:\n    x = 2\nprint(x)"],
    "await": ["import asyncio\nawait asyncio.sleep(0)"],
    "another language": ["%%bash\necho $x"],
    "deleted and gone": ["x = 1\ndel x"],
    "a nested function's own": ["def f(a):\n    def g():\n        return a\n    return g"],
    "a type's parameter": ["import typing\nx: 'typing.List[Later]' = []"],
}


@pytest.mark.parametrize("case", FINE)
def test_what_is_no_mistake(tmp_path, case):
    assert of(found(tmp_path, *FINE[case])) == []


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ("x = 1\ny = # your code", 2),
        ("x = (", 1),
        ("%matplotlib inline\nfor", 2),
        ("!ls\nprint 'x'", 2),
        ("pip install torch\nimport torch", 1),
    ],
)
def test_a_cell_that_is_no_python(tmp_path, source, line):
    assert [(code, at) for code, _, at in found(tmp_path, source) if code == "syntax-error"] == [("syntax-error", line)]


@pytest.mark.parametrize(
    "source",
    [
        "", "%%html\n<b>", "x?", "?x", "  x = 1", "!ls", "files = !ls", "await f()", "%time x = 1", "pip install torch",
        "cd data", ">>> x = 1\n>>> y = (x,\n...      2)", "f({\n...  'a': 1\n... })", "In [1]: x = 1",
        ">>> x = 1\n\n >>> y = 2",
        "!echo '''\n%time x = 1", "%time x = 1\nprint('%d'\n  % x)",
        "!echo it's\ny = '''\n% of all\n! and more'''", "%matplotlib inline\nx = {'a': \"it's\",  # (\n  'b': 5\n  % 3}",
    ],
)  # fmt: skip
def test_a_cell_that_ipython_understands(tmp_path, source):
    assert not [one for one in found(tmp_path, "1", source) if one[0] == "syntax-error"]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 2, 3), []),
        ((3, 1, 2), [("out-of-order", 1, None)]),
        ((None, 2, 1), [("out-of-order", 2, None)]),
        ((5, None, 6), []),
    ],
)
def test_the_order_in_which_cells_were_executed(tmp_path, counts, expected):
    """R16"""
    cells = [{"source": "1", "execution_count": count} for count in counts]
    assert of(found(tmp_path, *cells)) == expected


def test_modules_that_the_image_lacks(tmp_path):
    around = Surroundings(has_module=lambda name: name in ("numpy", "beside"))
    cells = [
        "import os, numpy.linalg, lacking.part\nfrom beside import x\nfrom . import y\nimport siflab",
        "try:\n    import optional\nexcept ImportError:\n    optional = None\nif x:\n    import sometimes",
        "def f():\n    import deep\nimport lacking",
    ]
    assert of(found(tmp_path, *cells, around=around)) == [("no-such-module", 0, 1), ("no-such-module", 2, 2)]
    for ready in (
        "sys.path.append('..')\nimport lacking",
        "%cd ..\nimport lacking",
        "from contextlib import suppress\nwith suppress(ImportError):\n    import lacking",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import lacking",
    ):
        assert of(found(tmp_path, "import sys", ready, around=around)) == []
    for file in ("lacking.py", "lacking/__init__.py", "src/lacking.py"):
        assert of(found(tmp_path, f"%%writefile {file}\nx = 1", "import lacking", around=around)) == []
    assert of(found(tmp_path, "import lacking")) == [], "nothing is known of the image"
    kernels = Kernels({"python3": "python", "conda": "python"}, {"python3": "python", "conda": "/opt/conda/bin/python"})
    for kernel, lacks in {None: True, "python3": True, "conda": False}.items():
        around = Surroundings(kernel=kernel, kernels=kernels, has_module=lambda name: False)
        assert bool(of(found(tmp_path, "import lacking", around=around))) is lacks, kernel


def test_a_backend_that_needs_a_browser_has_a_fix(tmp_path):
    from siflab.notebook import preflight
    from tests.unit.notebook.documents import notebook

    made = notebook(tmp_path, "x = 1\n  %matplotlib widget")
    (finding,) = [one for one in preflight(made, Surroundings()) if one.code == "needs-a-browser"]
    assert (finding.line, finding.fix.kind, finding.fix.text) == (2, "replace-line", "  %matplotlib inline")
    assert finding.as_dict()["fix"]["title"]["zh"]
    assert of(found(tmp_path, "%matplotlib inline", "%matplotlib", "x = '''\n%matplotlib widget\n'''")) == []
    assert of(found(tmp_path, "import matplotlib as mpl\nmpl.use('Qt5Agg')")) == [("needs-a-browser", 0, 2)]
    for name in ("TkAgg", "module://ipympl.backend_nbagg", "widget"):
        assert of(found(tmp_path, f"import matplotlib\nmatplotlib.use('{name}')")) == [("needs-a-browser", 0, 2)]
    assert of(found(tmp_path, "import matplotlib\nmatplotlib.use('Agg')\nmine.use('TkAgg')"))[:-1] == []


SECRETS = [
    "key = 'AKIAIOSFODNN7ABCDEFG'", "login('hf_" + "aB" * 15 + "')", "x = 'ghp_" + "a1B2" * 9 + "'", "password = 'Tr0ub4dor&3'",
    'my_api_key="9f8e7d6c5b4a"', "k = '''-----BEGIN RSA PRIVATE KEY-----", "client = C(api_key='q8w7e6r5t4')",
    "db = 'postgresql://user1:9f8e7d6c5b4a@db.example.org/x'", "x = 'eyJhbGciOiJIUzI1NiJ9abc.eyJzdWIi'",
]  # fmt: skip
NO_SECRETS = [
    "password = 'your-password'", "token = os.environ['TOKEN']", "api_key = ''", "secret = getpass()", "password = '<here>'",
    "tokens = 'a b c d e'", "x = 'AKIA'", "# password = 'Tr0ub4dor&3'", "token = tokenizer('some words here')",
    "db = 'postgresql://user:password@host/x'", "u = f'https://{name}:{key}@host'", "ssh = 'ssh://git@host:22/a@b'",
]  # fmt: skip


@pytest.mark.parametrize("line", SECRETS)
def test_secrets_are_named_by_their_place_and_not_repeated(tmp_path, line):
    """R14"""
    from siflab.notebook import preflight
    from tests.unit.notebook.documents import notebook

    findings = [f for f in preflight(notebook(tmp_path, f"1\n{line}"), Surroundings()) if f.code == "secret-in-code"]
    assert [(finding.cell, finding.line) for finding in findings] == [(0, 2)]
    assert line[8:] not in findings[0].message.en


@pytest.mark.parametrize("line", NO_SECRETS)
def test_what_is_no_secret(tmp_path, line):
    assert not [finding for finding in found(tmp_path, line) if finding[0] == "secret-in-code"]


def test_secrets_in_outputs(tmp_path):
    printed = [{"output_type": "stream", "name": "stdout", "text": ["logged in with ", "hf_" + "aB" * 15]}]
    assert of(found(tmp_path, "1", {"source": "1", "outputs": printed})) == [("secret-in-output", 1, None)]
    skipped = {"source": "1", "outputs": printed, "metadata": {"tags": ["skip-execution"]}}
    assert of(found(tmp_path, "1", skipped)) == [("secret-in-output", 1, None)], "the snapshot has it all the same"
    silenced = {"source": "1", "outputs": printed, "metadata": {"tags": ["siflab-ignore:secret-in-output"]}}
    assert of(found(tmp_path, "1", silenced)) == []


def test_a_finding_is_silenced_by_a_comment(tmp_path):
    assert of(found(tmp_path, "print(x)  # siflab-ignore: name-without-cell")) == []
