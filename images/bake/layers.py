"""The layers, each kept in the cache under the key of its inputs: Debian, the Python stack, Siflab."""

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.lab.trouble import Trouble, run
from images.bake import root_folder
from images.bake.recipe import Recipe, torch_index

CACHE = Path("/var/cache/siflab/images")
PYTHON = "/opt/jupyter/bin/python3"
BOUND = ("workspace", "tmpdata", "datasets")  # where sites bind homes, scratch and data sets


@contextmanager
def alone() -> Iterator[None]:
    """One build at a time: two would make the same layer twice."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def kept(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of that name in the cache; made aside and renamed when whole: a cut-off build leaves no layer."""
    folder = CACHE / name
    if folder.is_dir():
        os.utime(folder)
        return folder
    fresh = CACHE / f"{name}.part"
    shutil.rmtree(fresh, ignore_errors=True)
    make(fresh)
    fresh.rename(folder)
    return folder


def base(recipe: Recipe) -> Path:
    return kept(
        f"base-{recipe.base_key()}",
        lambda fresh: root_folder.make_base(recipe.suite, recipe.packages, fresh),
    )


def python_stack(recipe: Recipe) -> Path:
    """The virtual environment /opt/jupyter on top of Debian, with all that requirements.txt names."""

    def make(fresh: Path) -> None:
        below = base(recipe)
        run(["cp", "--archive", "--reflink=auto", below, fresh])
        (fresh / "requirements.txt").write_text(recipe.requirements)
        (fresh / "constraints.txt").write_text(recipe.constraints)
        with root_folder.entered(fresh):
            root_folder.inside(fresh, "python3", "-m", "venv", "/opt/jupyter")
            pip = [PYTHON, "-m", "pip", "install", "--no-cache-dir", "--quiet", "--disable-pip-version-check"]
            pinned = ["--constraint", "/constraints.txt"]
            if torch_index() and "torch" in recipe.requirements.split():
                root_folder.inside(fresh, *pip, *pinned, "--index-url", torch_index(), "torch")
            root_folder.inside(fresh, *pip, *pinned, "--requirement", "/requirements.txt")
            frozen = root_folder.inside(fresh, PYTHON, "-m", "pip", "freeze")
        (fresh / "opt/jupyter/requirements.lock").write_text(frozen)
        for name in ("requirements.txt", "constraints.txt"):
            (fresh / name).unlink()
        for name in BOUND:
            (fresh / name).mkdir()
        drop_tests(fresh)

    return kept(f"python-{recipe.name}-{recipe.python_key()}", make)


def drop_tests(root: Path) -> None:
    """Test suites of the packages that are large and never used; torch imports its own `testing`, which stays."""
    for folder in (root / "opt/jupyter/lib").glob("python*/site-packages/*/**/tests"):
        if folder.is_dir() and "torch" not in folder.parts:
            shutil.rmtree(folder)


@contextmanager
def last_layer() -> Iterator[Path]:
    """A folder for the work on the last layer, gone afterwards."""
    work = CACHE / "last-layer.part"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def over(below: Path, work: Path) -> Iterator[Path]:
    """A root folder that may be changed while the layer below stays as it is: an overlay, or a copy."""
    for name in ("upper", "under", "root"):
        (work / name).mkdir(parents=True)
    root = work / "root"
    places = f"lowerdir={below},upperdir={work}/upper,workdir={work}/under"
    try:
        run(["mount", "-t", "overlay", "overlay", "-o", places, root])
    except Trouble:
        root.rmdir()
        run(["cp", "--archive", "--reflink=auto", below, root])
    try:
        yield root
    finally:
        run(["umount", root], check=False)


def add_siflab(root: Path, wheel: Path, overrides: str) -> None:
    """Siflab's wheel, and JupyterLab's settings of the image."""
    settings = root / "opt/jupyter/share/jupyter/lab/settings"
    settings.mkdir(parents=True, exist_ok=True)
    (settings / "overrides.json").write_text(overrides)
    target = root / wheel.name
    shutil.copyfile(wheel, target)
    with root_folder.entered(root):
        pip = [PYTHON, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet", "--disable-pip-version-check"]
        root_folder.inside(root, *pip, f"/{wheel.name}")
    target.unlink()
