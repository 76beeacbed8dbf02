"""What can be said of an image without starting it."""

from pathlib import Path
from typing import Literal

from siflab.text import Text

# A SIF begins with a 32 byte launch script and then this magic (SIF specification, global header).
_MAGIC_OFFSET, _MAGIC = 32, b"SIF_MAGIC"


def check_image(path: str) -> Text | None:
    """Why this file cannot be used as an image, or None. A folder is taken for a sandbox image."""
    file = Path(path)
    try:
        if file.is_dir():
            return None
        with file.open("rb") as stream:
            head = stream.read(_MAGIC_OFFSET + len(_MAGIC))
    except FileNotFoundError:
        return image_problem(path, "missing")
    except OSError as error:
        return image_problem(path, "unreadable", error.strerror or "")
    return image_problem(path, "no-image") if head[_MAGIC_OFFSET:] != _MAGIC else None


def image_problem(path: str, problem: Literal["missing", "unreadable", "no-image"], words: str = "") -> Text:
    """The message for a problem that was found here or elsewhere (as the user, in a child process); `words` is the
    system's error text."""
    if problem == "missing":
        return Text(
            f"the image {path} does not exist; ask your administrator to check `images` in site.yaml",
            f"镜像 {path} 不存在；请让管理员检查 site.yaml 中的 `images`",
        )
    if problem == "unreadable":
        return Text(
            f"the image {path} cannot be read ({words}); ask your administrator to make it readable",
            f"镜像 {path} 无法读取（{words}）；请让管理员开放读权限",
        )
    return Text(
        f"{path} is no Singularity image (SIF); ask your administrator to check it",
        f"{path} 不是 Singularity 镜像（SIF）；请让管理员检查",
    )
