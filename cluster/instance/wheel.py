"""Siflab's wheel from the checkout, the JupyterLab extension in it; built aside, kept under the hash of its sources."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.instance import source
from cluster.instance.names import CACHE, CHECKOUT
from cluster.lab.trouble import run

BUILT = ("labextension", "locale")  # folders of extension/siflab_extension that the front end's build makes
NPM = {"npm_config_fund": "false", "npm_config_audit": "false", "npm_config_update_notifier": "false"}


def npm(*argv: str, cwd: Path) -> None:
    run(["npm", *argv], cwd=cwd, env={**NPM, "CI": "1"}, timeout=1800)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """One build of a kind at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def node_modules(package: Path) -> Path:
    """The packages of a package-lock.json, kept under the lock's hash: a folder with node_modules and package.json."""
    relative = package.relative_to(CHECKOUT).as_posix()
    key = source.digest(f"{relative}/package.json", f"{relative}/package-lock.json")
    folder = CACHE / "node" / f"{package.name}-{key}"
    with alone(CACHE / "node"):
        if not folder.is_dir():
            fresh = folder.with_name(folder.name + ".part")
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            for name in ("package.json", "package-lock.json"):
                shutil.copyfile(package / name, fresh / name)
            npm("ci", cwd=fresh)
            fresh.rename(folder)
    return folder


def front_end() -> Path:
    """A folder with what the front end's build makes: `labextension` and, where it has them, `locale`."""
    key = source.digest(*source.FRONT_END)
    folder = CACHE / "front-end" / key
    with alone(CACHE / "front-end"):
        if not folder.is_dir():
            fresh = folder.with_name(key + ".part")
            shutil.rmtree(fresh, ignore_errors=True)
            source.copy(source.FRONT_END, fresh / "build")
            work = fresh / "build" / "labextension"
            (work / "node_modules").symlink_to(node_modules(CHECKOUT / "labextension") / "node_modules")
            npm("run", "build:prod", cwd=work)
            for name in BUILT:
                made = fresh / "build" / "extension" / "siflab_extension" / name
                if made.is_dir():
                    made.rename(fresh / name)
            shutil.rmtree(fresh / "build")
            fresh.rename(folder)
    return folder


def key() -> str:
    """Of all that goes into the wheel."""
    return source.digest(*source.PYTHON_SIDE, *source.FRONT_END)


def build(python: Path) -> tuple[Path, str]:
    """The wheel and its key. `python` needs pip and setuptools (the Hub's environment has both)."""
    name = key()
    folder = CACHE / "wheels" / name
    with alone(CACHE / "wheels"):
        if not folder.is_dir():
            fresh = folder.with_name(name + ".part")
            shutil.rmtree(fresh, ignore_errors=True)
            tree = fresh / "tree"
            source.copy(source.PYTHON_SIDE, tree)
            source.copy(source.FRONT_END, tree)
            for made in front_end().iterdir():
                shutil.copytree(made, tree / "extension" / "siflab_extension" / made.name)
            pip = [python, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--quiet"]
            run([*pip, "--wheel-dir", fresh, tree])
            shutil.rmtree(tree)
            fresh.rename(folder)
    os.utime(folder)
    forget_old(folder)
    return next(folder.glob("*.whl")), name


def forget_old(kept: Path, count: int = 5) -> None:
    """Each change of the code makes another wheel; the latest few stay, and as many front ends."""
    for parent in (kept.parent, CACHE / "front-end"):
        folders = [path for path in parent.iterdir() if path.is_dir() and path != kept and path.suffix != ".part"]
        for old in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[count - 1 :]:
            shutil.rmtree(old)
