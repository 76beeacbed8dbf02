"""runner.pyz: the same everywhere, and at home in an image's Python."""

import ast
import io
import sys
import zipfile
from pathlib import Path

import pytest

import siflab.inside
from siflab.inside import build_archive

SOURCES = sorted(Path(siflab.inside.__file__).parent.glob("*.py"))
IN_THE_IMAGE = {"nbclient", "nbformat", "jupyter_client", "IPython", "traitlets", "zmq", "torch", "siflab"}


def test_the_same_sources_give_the_same_bytes(monkeypatch, tmp_path):
    first = build_archive()
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    monkeypatch.chdir(tmp_path)
    assert build_archive() == first


def test_it_holds_the_package_and_its_entry():
    names = zipfile.ZipFile(io.BytesIO(build_archive())).namelist()
    assert names == sorted({"__main__.py", "siflab/__init__.py", *(f"siflab/inside/{path.name}" for path in SOURCES)})


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.name)
def test_the_image_needs_only_python_3_9_nbclient_and_ipykernel(source):
    tree = ast.parse(source.read_text("utf-8"), feature_version=(3, 9))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and not node.level}
    assert {name.split(".")[0] for name in imported} - set(sys.stdlib_module_names) <= IN_THE_IMAGE
