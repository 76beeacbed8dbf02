"""What travels to a node runs there with Python 3.6, and with nothing but its standard library."""

import ast
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import siflab.node
from siflab.node.archive import build_archive

FOLDER = Path(siflab.node.__file__).parent
MODULES = sorted(path for path in FOLDER.glob("*.py") if path.name != "archive.py")
NEW_NAMES = {
    "removeprefix",
    "removesuffix",
    "capture_output",
    "dataclass",
    "fromisoformat",
    "run_in_executor",
    "missing_ok",
}


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_the_syntax_is_that_of_python_3_6(module):
    tree = ast.parse(module.read_text("utf-8"), feature_version=(3, 6))
    for node in ast.walk(tree):
        assert not isinstance(node, ast.NamedExpr | ast.Match)
        if isinstance(node, ast.FormattedValue | ast.JoinedStr):
            pytest.fail("no f-strings here: '=' in them is of 3.8")
        if isinstance(node, ast.Attribute | ast.keyword | ast.Name):
            name = getattr(node, "attr", None) or getattr(node, "arg", None) or getattr(node, "id", None)
            assert name not in NEW_NAMES
        if isinstance(node, ast.ImportFrom):
            assert node.module != "__future__"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_only_the_standard_library_is_imported(module):
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module]
        for name in names:
            assert name.partition(".")[0] in sys.stdlib_module_names or name == "siflab.node"


def test_the_same_sources_give_the_same_archive():
    assert build_archive() == build_archive()


def test_the_archive_has_what_runs_on_the_node_and_nothing_else():
    names = zipfile.ZipFile(io.BytesIO(build_archive())).namelist()
    assert "__main__.py" in names and "siflab/node/client.sh" in names and "siflab/node/shim.py" in names
    assert not [name for name in names if "archive" in name or name.endswith(".pyc")]


def old_pythons():
    """Older Pythons that this machine may have, the oldest first."""
    found = {sys.executable}
    for minor in range(6, 10):
        path = shutil.which(f"python3.{minor}")
        if path and subprocess.run([path, "-c", ""], capture_output=True).returncode == 0:
            found.add(path)
    found.update(str(path) for path in Path(os.path.expanduser("~/.pyenv/versions")).glob("3.[6-9].*/bin/python3"))
    return sorted(found)


@pytest.mark.parametrize("python", old_pythons(), ids=lambda path: path.replace("/", "_"))
def test_every_part_starts_with_the_pythons_of_this_machine(python, folder):
    """Imports everything, and runs a client to its first message."""
    code = "import siflab.node.shim, siflab.node.bridge, siflab.node.client, sys; print(sys.modules['siflab.node'].__file__)"
    run = [python, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(folder / 'node.pyz')!r}); {code}"]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(folder / "node.pyz"))
    client = [python, "-I", "-S", str(folder / "node.pyz"), "client", "squeue"]
    done = subprocess.run(client, capture_output=True, text=True, env={"SIFLAB_DIR": str(folder)})
    assert done.returncode == 69, done.stderr
