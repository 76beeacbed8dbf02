"""Which Jupyter kernels there are: kernelspecs found where Jupyter looks for them.

Source: https://jupyter-client.readthedocs.io/en/stable/kernels.html#kernel-specs and jupyter_core.paths.jupyter_path.
"""

import json
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Kernels:
    """Kernel name -> its language, in lower case; and -> the program that it starts, where that is known."""

    languages: dict[str, str]
    programs: dict[str, str] = field(default_factory=dict)

    def of_language(self, language: str) -> str | None:
        """The kernel that the runner takes for a notebook whose own kernel is not there (`siflab.inside.kernels`)."""
        same = sorted(name for name, spoken in self.languages.items() if spoken == language)
        return "python3" if "python3" in same else (same[0] if same else None)

    def is_this_python(self, name: str) -> bool:
        """Whether the kernel has this process's modules: it is no Python of another folder."""
        program = self.programs.get(name.lower(), "")
        return not program.startswith("/") or Path(program).parent == Path(sys.executable).parent


def kernels_here(folders: Iterable[Path] | None = None) -> Kernels:
    """The kernels of this environment. They are those of a run when it uses the image that this process runs in."""
    found: dict[str, str] = {}
    programs: dict[str, str] = {}
    for folder in _folders() if folders is None else folders:
        try:
            specs = sorted((folder / "kernels").iterdir())
        except OSError:
            continue
        for spec in specs:
            try:
                about = json.loads((spec / "kernel.json").read_bytes())
                language, argv = about.get("language"), about.get("argv")
            except (OSError, ValueError, AttributeError):
                continue
            if spec.name.lower() not in found:
                found[spec.name.lower()] = str(language or "").lower()
                programs[spec.name.lower()] = str(argv[0]) if isinstance(argv, list) and argv else ""
    return Kernels(found, programs)


def _folders() -> list[Path]:
    given = [Path(name) for name in os.environ.get("JUPYTER_PATH", "").split(os.pathsep) if name]
    own = Path(os.environ.get("JUPYTER_DATA_DIR") or Path.home() / ".local/share/jupyter")
    prefixes = dict.fromkeys([sys.prefix, "/usr/local", "/usr"])
    return [*given, own, *(Path(prefix) / "share/jupyter" for prefix in prefixes)]
