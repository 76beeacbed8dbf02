"""Folders that are ours alone: where others may write, one of ours can be taken away and theirs put in its place.

Only the standard library, and whole in this file: a kernel of an environment is started by a copy of it, by the image's
Python, as ``ownership.py FOLDER COMMAND ...``.
"""

import os
import stat
import sys
from pathlib import Path


def is_ours_alone(folder: Path) -> bool:
    """Whether we own a folder, no link of another user's leads to it, and not everybody may write to it. Members of its
    group may: sites share folders so on purpose. Raises OSError when it is not there."""
    link, target, us = folder.lstat(), folder.stat(), os.geteuid()
    return link.st_uid in (us, 0) and target.st_uid == us and not target.st_mode & stat.S_IWOTH


def _start(folder: str, command: list[str]) -> None:
    """In the place of this process, unless the folder is not ours alone: whatever lies there may be another user's."""
    try:
        ours = is_ours_alone(Path(folder))
    except OSError as error:
        sys.exit(f"siflab: {folder} cannot be read ({error.strerror}). 无法读取该目录。")
    if not ours:
        sys.exit(
            f"siflab: {folder} is not yours alone (its owner is not you, or everybody may write to it), so nothing in "
            "it is run. Rebuild the environment in your home, or ask your administrator for the folder. "
            "该目录不是您独有的，因此不运行其中的任何程序。请在主目录中重建环境，或请管理员处理该目录。"
        )
    os.execv(command[0], command)  # noqa: S606


if __name__ == "__main__":
    _start(sys.argv[1], sys.argv[2:])
