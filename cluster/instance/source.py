"""What of the checkout goes into the wheel and the front end, and the hash that says whether it has changed."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from cluster.instance.names import CHECKOUT

PYTHON_SIDE = (
    *("siflab", "spawner", "extension", "setup.cfg", "setup.py", "pyproject.toml", "README.md", "LICENSE"),
    *("MANIFEST.in", "site.yaml"),
)
FRONT_END = ("labextension", "extension/siflab_extension/openapi.yaml")
# What is made from the rest, or by the tools of whoever works on it.
MADE = frozenset({"__pycache__", "node_modules", "coverage", "build", "dist", ".git"})
MADE_PATHS = frozenset(
    {"labextension/lib", "extension/siflab_extension/labextension", "extension/siflab_extension/locale"}
)


def made(path: Path) -> bool:
    relative = path.relative_to(CHECKOUT)
    return (
        path.name in MADE
        or path.name.endswith((".egg-info", ".pyc", ".tsbuildinfo"))
        or path.name.startswith(".")
        or relative.as_posix() in MADE_PATHS
    )


def files(tops: tuple[str, ...]) -> Iterator[Path]:
    """All files below those entries of the checkout, in a fixed order, without what is made from others."""
    for top in tops:
        pending = [CHECKOUT / top]
        while pending:
            path = pending.pop()
            if not path.exists() or made(path):
                continue
            if path.is_dir():
                pending += sorted(path.iterdir(), reverse=True)
            else:
                yield path


def digest(*tops: str) -> str:
    """Of the names and contents of all files below `tops`."""
    total = hashlib.sha256()
    for path in files(tops):
        content = path.read_bytes()
        total.update(f"{path.relative_to(CHECKOUT)}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:16]


def copy(tops: tuple[str, ...], target: Path) -> None:
    """The same files, below `target`: built there, so that a build leaves nothing in the checkout."""
    for path in files(tops):
        copied = target / path.relative_to(CHECKOUT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
