"""cgroup v1: can Slurm use it here, and what its nodes leave behind in it."""

import os
import time
from pathlib import Path

from cluster.lab.settings import Settings

ROOT = Path("/sys/fs/cgroup")
NEEDED = ("freezer", "memory", "devices", "cpuacct")


def usable() -> bool:
    """Whether all controllers that Slurm's plugin wants are mounted as v1, and let us make a group."""
    for controller in NEEDED:
        probe = ROOT / controller / f"siflab-probe{os.getpid()}"
        try:
            probe.mkdir()
            probe.rmdir()
        except OSError:
            return False
    return True


def in_use_elsewhere() -> set[str]:
    """Names of nodes for which a slurmd runs on this machine: called when our own have ended, so these are others'."""
    names = set()
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if words and words[0].endswith(b"slurmd") and b"-N" in words[:-1]:
            names.add(words[words.index(b"-N") + 1].decode())
    return names


def of_nodes(settings: Settings) -> list[Path]:
    """The top groups of this cluster's nodes; slurmd names them ``slurm_<node>`` when a host has several slurmd."""
    names = {node.name for node in settings.nodes} - in_use_elsewhere()
    return [group for name in sorted(names) for group in ROOT.glob(f"*/slurm_{name}") if group.is_dir()]


def processes(node: str) -> list[int]:
    """All that Slurm has put into jobs on that node."""
    found = []
    for listing in (ROOT / "freezer" / f"slurm_{node}").rglob("cgroup.procs"):
        try:
            found += [int(word) for word in listing.read_text().split()]
        except OSError:
            continue
    return found


def in_use(group: Path) -> bool:
    """Whether processes are in it or below: another cluster's on a node of that name, since ours have ended."""
    for listing in group.rglob("cgroup.procs"):
        try:
            if listing.read_text().strip():
                return True
        except OSError:
            continue
    return False


def remove(settings: Settings, seconds: float = 3) -> list[Path]:
    """Remove the nodes' groups, the deepest first; returns those that are empty and stay all the same.

    A group whose last process has just been killed takes a moment.
    """
    deadline = time.monotonic() + seconds
    while True:
        for top in of_nodes(settings):
            for folder, _, _ in os.walk(top, topdown=False):
                try:
                    Path(folder).rmdir()
                except OSError:
                    continue
        left = [group for group in of_nodes(settings) if not in_use(group)]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.05)
