"""Apptainer, which also brings the name `singularity`, by cluster/install/apptainer.sh."""

import stat
from pathlib import Path

from cluster.instance import packages
from cluster.instance.manifest import Manifest
from cluster.instance.names import CHECKOUT
from cluster.lab.trouble import run

SCRIPT = CHECKOUT / "cluster" / "install" / "apptainer.sh"
FUSE = Path("/dev/fuse")


def install(manifest: Manifest) -> None:
    """A Singularity or Apptainer that is there already is taken as it is (only /dev/fuse is opened to users)."""
    before = packages.everything_installed()
    if FUSE.exists():
        mode = stat.S_IMODE(FUSE.stat().st_mode)
        if mode != 0o666 and not any(entry.startswith(f"{FUSE} ") for entry in manifest.entries["modes"]):
            manifest.add("modes", [f"{FUSE} {mode:o}"])
    with packages.no_services(manifest):
        print(run(["bash", SCRIPT], timeout=1800).stderr)
    manifest.add("packages", sorted(packages.everything_installed() - before))


def restore_modes(manifest: Manifest) -> None:
    for entry in list(manifest.entries["modes"]):
        path, _, mode = entry.rpartition(" ")
        if Path(path).exists():
            Path(path).chmod(int(mode, 8))
        manifest.drop("modes", entry)
