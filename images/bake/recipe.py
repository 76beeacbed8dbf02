"""What an image is made of, and the keys under which its layers are kept: the same inputs are not built twice."""

import hashlib
import json
import os
import platform
from dataclasses import dataclass
from pathlib import Path

import tomllib

from cluster.lab.trouble import Trouble
from siflab.text import Text

IMAGES = Path(__file__).resolve().parent.parent
BUILD = 1  # raised when the way of building changes what comes out


@dataclass(frozen=True)
class Recipe:
    """One folder of images/: recipe.toml, requirements.txt; versions are pinned by images/constraints.txt for all, but
    for those that recipe.toml names under [versions]."""

    name: str
    title: str
    version: str
    suite: str
    packages: tuple[str, ...]
    siflab: bool
    requirements: str
    constraints: str
    overrides: str  # JupyterLab's settings for the image: no questions about news on nodes without a way out

    def base_key(self) -> str:
        return key("base", self.suite, self.packages, platform.machine())

    def python_key(self) -> str:
        return key("python", self.base_key(), self.requirements, self.constraints, torch_index())

    def image_key(self, source: str) -> str:
        """`source`: what identifies Siflab's wheel; empty for an image without it."""
        return key("image", self.python_key(), self.name, self.title, self.version, self.overrides, source)


def key(*inputs: object) -> str:
    text = json.dumps([BUILD, *inputs], sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def torch_index() -> str:
    """Where torch's wheels come from (pip's --index-url); empty: wherever pip looks on this machine.

    Plain torch from the public index is a CUDA build of several GB; here the index of the CPU wheels can be named.
    """
    return os.environ.get("SIFLAB_TORCH_INDEX", "")


def names() -> list[str]:
    return sorted(path.parent.name for path in IMAGES.glob("*/recipe.toml"))


def pinned(common: str, own: dict[str, str]) -> str:
    """The common constraints, with a recipe's own versions in their place."""
    lines = [line for line in common.splitlines() if line.partition("==")[0] not in own]
    return "\n".join([*lines, *(f"{package}=={version}" for package, version in own.items()), ""])


def read(name: str) -> Recipe:
    folder = IMAGES / name
    try:
        recipe = tomllib.loads((folder / "recipe.toml").read_text())
    except FileNotFoundError:
        known = ", ".join(names())
        raise Trouble(
            Text(f"There is no image {name}; there are {known}.", f"没有镜像 {name}；现有：{known}。")
        ) from None
    return Recipe(
        name=name,
        title=recipe["title"],
        version=recipe["version"],
        suite=recipe["suite"],
        packages=tuple(recipe["packages"]),
        siflab=recipe["siflab"],
        requirements=(folder / "requirements.txt").read_text(),
        constraints=pinned((IMAGES / "constraints.txt").read_text(), recipe.get("versions", {})),
        overrides=(IMAGES / "overrides.json").read_text(),
    )
