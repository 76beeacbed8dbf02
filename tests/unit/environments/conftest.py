"""A place in a folder of the test's, whose image is the Python that runs the tests; and wheels of a package."""

import zipfile

import pytest

from siflab.environments import Place
from siflab.text import Text


def a_place(home, letter="a", **changes):
    return Place(
        **{
            "identity": "sif:" + letter * 64,
            "image_id": "stock",
            "image_path": "/images/stock.sif",
            "title": Text("Stock", "标准"),
            "home": str(home),
            "scratch": None,
            **changes,
        }
    )


def write_wheel(folder, name, version, requires=()):
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}", *(f"Requires-Dist: {r}" for r in requires)]
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", f"VERSION = {version!r}\n")
        wheel.writestr(f"{info}/METADATA", "\n".join(metadata) + "\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def place(tmp_path):
    return a_place(tmp_path)


@pytest.fixture
def wheels(tmp_path, monkeypatch):
    """pip's own configuration names a folder instead of an index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for version in ("1.0", "1.1"):
        write_wheel(folder, "siflabtiny", version)
    write_wheel(folder, "siflabneeds", "1.0", ["siflabtiny==1.0"])
    write_wheel(folder, "packaging", "99.0")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder
