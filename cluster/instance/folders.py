"""The site's folders (scratch, data sets), and what people meet on the demo's login node: its command, its Slurm."""

import math
import os
import pwd
import random
from pathlib import Path

from cluster.instance.manifest import Manifest
from cluster.instance.names import Instance

ETC = Path("/etc/siflab")
COMMAND = Path("/usr/local/bin/siflab")
PROFILE = Path("/etc/profile.d/siflab-demo.sh")
DATA = "siflab-demo"


def files(instance: Instance) -> dict[Path, Path]:
    """Links on the machine outside the state folder, and what they point to."""
    if not instance.machine_wide:
        return {}
    return {ETC / "site.yaml": instance.site, COMMAND: instance.venv / "bin" / "siflab"}


def in_the_way(instance: Instance, manifest: Manifest) -> list[str]:
    """Files that the instance would write and that somebody else has."""
    wanted = [*files(instance), PROFILE] if instance.machine_wide else []
    return [str(path) for path in wanted if os.path.lexists(path) and not listed(manifest, path)]


def listed(manifest: Manifest, path: Path) -> bool:
    return manifest.has("links", path) or manifest.has("files", path)


def make(instance: Instance, manifest: Manifest) -> None:
    if manifest.folder(instance.scratch):
        instance.scratch.chmod(0o1777)
    manifest.folder(instance.dataset)
    for member in instance.members:
        person = pwd.getpwnam(member.name)
        own = instance.scratch / member.name
        if manifest.folder(own, 0o700):
            os.chown(own, person.pw_uid, person.pw_gid)
    data = instance.dataset / DATA
    manifest.folder(data)
    if manifest.has("folders", data) and not (data / "README.txt").exists():
        write_data(data)


def write_data(folder: Path) -> None:
    """Two spirals, 400 points each: enough to train on, small enough to read. The same every time."""
    dice = random.Random(20)
    rows = ["x,y,label"]
    for label in (0, 1):
        for step in range(400):
            radius = 0.1 + step / 400 * 2
            angle = step / 400 * 9.4 + label * 3.14159
            x, y = (
                radius * math.cos(angle) + dice.gauss(0, 0.04),
                radius * math.cos(angle - 1.5708) + dice.gauss(0, 0.04),
            )
            rows.append(f"{x:.4f},{y:.4f},{label}")
    (folder / "spirals.csv").write_text("\n".join(rows) + "\n")
    (folder / "README.txt").write_text(
        "spirals.csv: two interleaved spirals, columns x, y, label. Read-only for sessions and runs (/datasets).\n"
        "spirals.csv：两条交错的螺线，列为 x、y、label。会话与作业只能读取（/datasets）。\n",
        "utf-8",
    )


def connect(instance: Instance, manifest: Manifest) -> None:
    """The `siflab` command, the site and Slurm's configuration for login shells; only the demo is so at home here."""
    if not instance.machine_wide:
        return
    manifest.folder(ETC)
    for link, target in files(instance).items():
        manifest.add("links", [link])
        fresh = link.with_name(link.name + ".new")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(target)
        fresh.replace(link)
    manifest.add("files", [PROFILE])
    PROFILE.write_text(f"# Written by siflab's demo.\nexport SLURM_CONF={instance.cluster().conf}\n")
