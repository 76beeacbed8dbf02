"""The Hub's Python environment, from Debian's own Python, so that every user may read it; with Siflab in it."""

import configparser
import hashlib
import platform
import shutil
from pathlib import Path

from cluster.instance import wheel
from cluster.instance.names import CHECKOUT, Instance
from cluster.lab.trouble import run

DEBIAN_PYTHON = Path("/usr/bin/python3")
TOOLS = ("pip", "setuptools", "wheel")
CONSTRAINTS = CHECKOUT / "images" / "constraints.txt"
OLDEST_JUPYTERHUB = "5.3.0"


def requirements(extras: tuple[str, ...]) -> list[str]:
    """What setup.cfg asks for, with those extras; read here: a change of the code alone installs nothing anew."""
    parsed = configparser.ConfigParser()
    parsed.read(CHECKOUT / "setup.cfg", encoding="utf-8")
    texts = [parsed["options"].get("install_requires", "")]
    texts += [parsed["options.extras_require"].get(extra, "") for extra in extras]
    return [line.strip() for text in texts for line in text.splitlines() if line.strip()]


def key(wanted: list[str]) -> str:
    version = run([DEBIAN_PYTHON, "-c", "import sys; print(sys.version)"]).stdout
    inputs = "\n".join([version, platform.machine(), *wanted])
    return hashlib.sha256(inputs.encode()).hexdigest()[:16]


def is_key(file: Path, wanted: str) -> bool:
    return file.is_file() and file.read_text() == wanted


def make(instance: Instance, extras: tuple[str, ...]) -> None:
    """All that Siflab needs, but not Siflab itself."""
    fill(instance.venv, requirements(extras), CONSTRAINTS.read_text())


def make_older(instance: Instance) -> None:
    """For the tests: the same for the Hub alone, with the oldest JupyterHub that Siflab supports."""
    others = [line for line in CONSTRAINTS.read_text().splitlines() if not line.startswith("jupyterhub==")]
    fill(instance.older_venv, requirements(("hub",)), "\n".join([*others, f"jupyterhub=={OLDEST_JUPYTERHUB}", ""]))


def fill(folder: Path, wanted: list[str], constraints: str) -> None:
    """A virtual environment with these packages. A half-made one has no key, and is made again; into a whole one comes
    what is missing, since processes may be using it."""
    current = key([*wanted, constraints])
    if is_key(folder / "key", current):
        return
    if not (folder / "key").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([DEBIAN_PYTHON, "-m", "venv", folder])
    pinned = folder / "constraints.txt"
    pinned.write_text(constraints)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--upgrade", *TOOLS], timeout=1800)
    run([*pip, "--constraint", pinned, *wanted], timeout=1800)
    (folder / "key").write_text(current)


def install_siflab(instance: Instance) -> tuple[Path, str]:
    """Siflab's wheel into the environment, if the code has changed; returns the wheel and its key."""
    folder = instance.venv
    file, name = wheel.build(folder / "bin" / "python")
    if not is_key(folder / "siflab-key", name):
        (folder / "siflab-key").unlink(missing_ok=True)
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, "--no-index", "--no-deps", "--force-reinstall", file])
        (folder / "siflab-key").write_text(name)
    return file, name
