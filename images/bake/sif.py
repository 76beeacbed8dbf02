"""The SIF file around a root folder: labels, environment, and the squashed file system."""

import json
import platform
import shutil
import subprocess
from pathlib import Path

from cluster.lab.trouble import run
from images.bake.layers import PYTHON
from images.bake.recipe import Recipe
from images.bake.root_folder import inside

# zstd at a low level is quicker to write and to start from than gzip.
COMPRESSION = ("-comp", "zstd", "-Xcompression-level", "3")
# Numbers of `apptainer sif add --partarch`.
ARCHITECTURES = {"x86_64": "2", "aarch64": "4"}
# What `apptainer build` adds to a root folder.
ADDED = (".singularity.d", ".exec", ".run", ".shell", ".test", "environment", "singularity")
VERSIONS = """
import importlib.metadata as metadata, json, platform
def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"
try:
    import torch.version
    cuda = torch.version.cuda or "none"
except ImportError:
    cuda = "none"
names = {"jupyterlab": "jupyterlab", "jupyterhub": "jupyterhub", "pytorch": "torch", "siflab": "siflab"}
print(json.dumps({"python": platform.python_version(), "cuda": cuda, **{k: version(v) for k, v in names.items()}}))
"""


def labels(recipe: Recipe, root: Path, source: str) -> dict[str, str]:
    """What `singularity inspect` shows: the image's own version, and those of the parts that matter to a notebook."""
    versions = json.loads(inside(root, PYTHON, "-c", VERSIONS))
    return {
        "org.opencontainers.image.title": recipe.title,
        "org.opencontainers.image.version": recipe.version,
        "org.opencontainers.image.base.name": f"debian:{recipe.suite}",
        "org.opencontainers.image.licenses": "BSD-3-Clause",
        **{f"siflab.{name}.version": value for name, value in versions.items()},
        "siflab.image": recipe.name,
        "siflab.source": source or "none",
    }


def definition(root: Path, labelled: dict[str, str]) -> str:
    """A Singularity definition for a root folder that is ready: nothing is run in it, so it builds in any container."""
    shown = "\n".join(f"    {name} {value}" for name, value in labelled.items())
    return f"""Bootstrap: localimage
From: {root}

%labels
{shown}

%environment
    export PATH="/opt/jupyter/bin:$PATH"
    export LC_ALL=C.UTF-8

%runscript
    exec "$@"
"""


def apptainer_build(work: Path, root: Path, labelled: dict[str, str], target: Path) -> None:
    text = work / "image.def"
    text.write_text(definition(root, labelled))
    run(
        ["apptainer", "build", "--force", "--disable-cache", "--mksquashfs-args", " ".join(COMPRESSION), target, text],
        env={"APPTAINER_TMPDIR": str(work)},
        timeout=1800,
    )


def around(work: Path, root: Path, labelled: dict[str, str], target: Path) -> None:
    """The SIF without the copy of the whole root folder that `apptainer build` makes first (1.5 GB, 20 s and more).

    Apptainer builds an image of an empty root folder with our labels; what it adds to that is added to ours, and the
    file system in the SIF is exchanged.
    """
    empty, added, squashed = work / "empty", work / "added", work / "root.squashfs"
    (empty / "bin").mkdir(parents=True)
    shutil.copyfile(root / "bin" / "sh", empty / "bin" / "sh")
    apptainer_build(work, empty, labelled, target)
    with squashed.open("wb") as file:
        subprocess.run(["apptainer", "sif", "dump", "3", str(target)], stdout=file, check=True)
    run(["unsquashfs", "-no-progress", "-dest", added, squashed])
    for name in ADDED:
        run(["cp", "--archive", added / name, root])
    squashed.unlink()
    run(["mksquashfs", root, squashed, "-noappend", "-no-progress", "-quiet", *COMPRESSION], timeout=1800)
    run(["apptainer", "sif", "del", "3", target])
    kind = ["--datatype", "4", "--parttype", "2", "--partfs", "1", "--groupid", "1"]
    run(["apptainer", "sif", "add", target, squashed, *kind, "--partarch", ARCHITECTURES[platform.machine()]])


def build(recipe: Recipe, work: Path, root: Path, source: str, target: Path) -> None:
    """Write `target` through a file beside it, so that a reader never sees half an image. `root` is changed."""
    labelled = labels(recipe, root, source)
    fresh = target.with_suffix(".part")
    fresh.unlink(missing_ok=True)
    if platform.machine() in ARCHITECTURES:
        around(work, root, labelled, fresh)
    else:
        apptainer_build(work, root, labelled, fresh)
    run(["apptainer", "exec", "--userns", fresh, PYTHON, "-c", "import jupyterlab, jupyterhub"])
    fresh.chmod(0o644)
    fresh.replace(target)
