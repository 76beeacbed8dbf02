"""Metadata is in setup.cfg; here is only what a static file cannot say."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup

SOURCE = Path(__file__).parent / "labextension"
BUILT = Path(__file__).parent / "extension" / "siflab_extension" / "labextension" / "package.json"
BUILDING = {"bdist_wheel", "editable_wheel", "install", "develop"}


class WithDataFiles(Distribution):
    """setuptools' editable_wheel asks `has_data()`, which nothing defines: `pip install -e .` would drop data_files."""

    def has_data(self) -> bool:
        return self.has_data_files()


def build_labextension() -> None:
    """Build the JupyterLab extension where a checkout has none yet (setup.cfg lists its files, so it comes first)."""
    if BUILT.exists() or not SOURCE.exists() or os.environ.get("SIFLAB_WITHOUT_LABEXTENSION"):
        return
    npm = shutil.which("npm")
    if npm is None:
        sys.exit(
            "siflab: the JupyterLab extension is not built, and npm (Node.js 20 or later) is not installed. "
            "Install it, or set SIFLAB_WITHOUT_LABEXTENSION=1 to install the Python side alone (enough for a Hub)."
        )
    for arguments in (["ci"], ["run", "build:prod"]):
        subprocess.run([npm, *arguments], cwd=SOURCE, check=True)


if BUILDING & set(sys.argv):
    build_labextension()
setup(distclass=WithDataFiles)
