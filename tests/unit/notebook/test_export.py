"""A notebook as a script: what it says in Python, and what it refuses."""

import subprocess
import sys

import pytest

from siflab.errors import Invalid
from siflab.notebook.export import to_script
from tests.unit.notebook.documents import notebook

LINES = {
    "plain": ("x = 1\nprint(x)", "x = 1\nprint(x)"),
    "a magic that only draws": ("%matplotlib inline\nx = 1", "# %matplotlib inline\nx = 1"),
    "timed": ("%time x = 2", "x = 2  # %time"),
    "a timed cell": ("%%time\nx = 2", "# %%time\nx = 2"),
    "a command": ("!echo it's", 'subprocess.run("echo it\'s", shell=True)'),
    "a command over two lines": ("!echo a \\\n  b", "subprocess.run('echo a  b', shell=True)"),
    "in a block": ("if True:\n    !ls", "if True:\n    subprocess.run('ls', shell=True)"),
    "its output": (
        "x = !ls",
        "x = subprocess.run('ls', shell=True, capture_output=True, text=True).stdout.splitlines()",
    ),
    "a shell cell": ("%%bash\nls\npwd", "subprocess.run(['bash', '-c', 'ls\\npwd'], check=True)"),
    "a folder": ("%cd ~/x", "os.chdir(os.path.expanduser('~/x'))"),
    "a variable": ("%env A=b c", "os.environ['A'] = 'b c'"),
    "a file": ("%%writefile a.py\nx = 1", "pathlib.Path('a.py').write_text('x = 1')"),
    "help": ("print?", "# print?"),
    "a remainder is no magic": ("x = 5 %2\ny = x != 1", "x = 5 %2\ny = x != 1"),
    "in a text": ("x = '''\n!ls\n'''", "x = '''\n!ls\n'''"),
}


@pytest.mark.parametrize("case", LINES)
def test_a_cell(tmp_path, case):
    source, expected = LINES[case]
    script = to_script(notebook(tmp_path, source))
    assert script.partition("# %% [1]\n")[2] == expected + "\n"
    compile(script, "script", "exec")


def test_cells_are_marked_and_the_script_runs(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": "# Title\n\ntext"},
        {"source": "x = 1", "metadata": {"tags": ["parameters"]}},
        "%matplotlib inline\nfiles = !echo one two\ndisplay(files, x)",
    ]
    script = to_script(notebook(tmp_path, *cells))
    for line in ("# %% [markdown]\n# # Title\n#\n# text", "# %% [1] tags=['parameters']", "# %% [2]"):
        assert line in script
    done = subprocess.run([sys.executable, "-"], input=script, capture_output=True, text=True, check=True)
    assert done.stdout == "['one two'] 1\n"


REFUSED = [
    ("%%javascript\nx", "line 1: %%javascript"),
    ("x = 1\n%store x", "line 2: %store"),
    ("x = 1\nawait f()", "line 2: await"),
    ("get_ipython().system('ls')", "get_ipython()"),
    ("%timeit -n 3 x", "%timeit"),
    ("x = (", "was never closed"),
    ("x = %who_ls", "%who_ls"),
]


@pytest.mark.parametrize(("source", "said"), REFUSED)
def test_what_cannot_be_said_is_refused_with_its_line(tmp_path, source, said):
    with pytest.raises(Invalid) as caught:
        to_script(notebook(tmp_path, "1", source))
    assert [error.field for error in caught.value.errors] == ["cell 2"]
    assert said in caught.value.errors[0].message.en


def test_an_awaiting_function_is_fine(tmp_path):
    to_script(notebook(tmp_path, "async def f():\n    await g()\nimport asyncio\nasyncio.run(f())"))


def test_another_language(tmp_path):
    with pytest.raises(Invalid, match="not in Python"):
        to_script(notebook(tmp_path, "x", metadata={"kernelspec": {"name": "ir", "language": "R"}}))
