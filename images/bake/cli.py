"""`images/build`: one image from its recipe, or from the cache."""

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from cluster.lab.trouble import Trouble, run
from images.bake import layers, recipe, sif
from siflab.text import Text, terminal_language

KEPT_IMAGES = 3  # of each name; older ones go


def place(image: Path, target: Path) -> None:
    """Hand the image over: a hard link where the cache lies on the same file system, a copy elsewhere."""
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    try:
        os.link(image, fresh)
    except OSError:
        run(["cp", "--reflink=auto", image, fresh])
    fresh.replace(target)


def forget_old(wanted: recipe.Recipe, kept: Path) -> None:
    """Older images of that name, and Python layers that are no longer asked for (1.5 GB each)."""
    images = sorted(layers.CACHE.glob(f"{wanted.name}-*.sif"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in [path for path in images if path != kept][KEPT_IMAGES - 1 :]:
        old.unlink()
    for layer in layers.CACHE.glob(f"python-{wanted.name}-*"):
        if layer.name != f"python-{wanted.name}-{wanted.python_key()}":
            shutil.rmtree(layer)


def image(name: str, wheel: Path | None, source: str) -> Path:
    """The image in the cache, built if it is not there. `source` identifies what the wheel was made of."""
    wanted = recipe.read(name)
    if not wanted.siflab:
        wheel, source = None, ""
    elif wheel is None:
        raise Trouble(
            Text(f"The image {name} contains Siflab: it needs --wheel.", f"镜像 {name} 内含 Siflab：需要 --wheel。")
        )
    target = layers.CACHE / f"{name}-{wanted.image_key(source)}.sif"
    with layers.alone():
        if target.exists():
            os.utime(target)
            return target
        begun = time.monotonic()

        def reached(part: str) -> None:
            print(f"{time.monotonic() - begun:6.1f} s  {part}", flush=True)

        below = layers.python_stack(wanted)
        reached("Debian, Python")
        with layers.last_layer() as work, layers.over(below, work) as root:
            if wheel is not None:
                layers.add_siflab(root, wheel, wanted.overrides)
                reached("Siflab")
            sif.build(wanted, work, root, source, target)
        reached(f"SIF, {target.stat().st_size >> 20} MiB")
        forget_old(wanted, target)
    return target


def main() -> int:
    options = argparse.ArgumentParser(prog="images/build", description="Build a Singularity image without a registry.")
    options.add_argument("name", help=f"one of {', '.join(recipe.names())}")
    options.add_argument("target", type=Path, help="where the .sif file goes")
    options.add_argument("--wheel", type=Path, help="Siflab's wheel, for an image that contains it")
    options.add_argument("--source", default="", help="what the wheel was made of; the same again is not built again")
    given = options.parse_args()
    try:
        place(image(given.name, given.wheel, given.source), given.target)
    except Trouble as trouble:
        print(f"images/build: {trouble.message.to(terminal_language())}", file=sys.stderr)
        return 1
    return 0
