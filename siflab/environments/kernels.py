"""The kernelspec of an environment, in a folder that only sessions and runs of its image look into."""

from __future__ import annotations

import shutil
import sys
from importlib.resources import files
from pathlib import Path

from siflab.environments.place import FOLDER, Place, short
from siflab.environments.store import NAME, Environment, write_json

KERNEL_PREFIX = "siflab-"
KERNELS = ".kernels"


def jupyter_path(home: str, identity: str) -> str:
    """What JUPYTER_PATH has to name for an image, whether or not there is an environment yet. `siflab.node` says the
    same for sessions."""
    return f"{home.rstrip('/')}/{FOLDER}/{KERNELS}/{short(identity)}"


def environment_of_kernel(kernel: str | None) -> str | None:
    """The name of the environment that a kernel belongs to; None for any other kernel."""
    if kernel is None or not kernel.startswith(KERNEL_PREFIX):
        return None
    name = kernel[len(KERNEL_PREFIX) :]
    return name if NAME.fullmatch(name) else None


def spec_folder(place: Place, environment: Environment) -> Path:
    return Path(jupyter_path(place.home, environment.identity)) / "kernels" / environment.kernel


def write_spec(place: Place, environment: Environment) -> None:
    """Kernels of it find its programs first; ``pip`` in a cell installs into it. Each start looks whose folder it is:
    scratch is cleaned, and then another user can put theirs there. Raises OSError."""
    folder = spec_folder(place, environment)
    folder.mkdir(parents=True, exist_ok=True)
    starter = folder / "start.py"
    starter.write_text(files("siflab").joinpath("ownership.py").read_text("utf-8"), "utf-8")
    kernel = [f"{environment.venv}/bin/python", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    title = environment.title.get("en") or environment.image_id
    write_json(
        folder / "kernel.json",
        {
            "argv": [sys.executable, "-I", "-S", str(starter), str(environment.place), *kernel],
            "display_name": f"{environment.name} (my packages on {title})",
            "language": "python",
            "metadata": {"debugger": True, "siflab": {"environment": environment.name, "image": environment.identity}},
            "env": {
                "PATH": f"{environment.venv}/bin:${{PATH}}",
                "VIRTUAL_ENV": str(environment.venv),
                "PYTHONNOUSERSITE": "1",
            },
        },
    )


def remove_spec(place: Place, environment: Environment) -> None:
    shutil.rmtree(spec_folder(place, environment), ignore_errors=True)
