"""From the path that a front end names to the one that this server's user sees."""

import os
import posixpath
import re
from pathlib import Path

from siflab.errors import FieldError, Invalid
from siflab.text import Text

#: A drive of JupyterLab (`RTC:` of real-time collaboration and others), which stands before a path of its contents.
DRIVE = re.compile(r"[A-Za-z][A-Za-z0-9_-]*:")


def notebook_path(path: str, root: Path) -> str:
    """An absolute, normalised path; a relative one starts at `root`, the server's root folder.

    A drive before the path is left out, unless a file of exactly that name is there (`a:b.ipynb` is a good name).
    Links are not resolved: the path is what the person knows. Raises `Invalid` with the field `path`.
    May touch the file system, so not for the event loop.
    """
    if not path.strip():
        raise _wrong("path-empty", Text("name a notebook", "请指定一个 notebook"))
    if "\0" in path:
        raise _wrong("path-invalid", Text("a path cannot hold a NUL character", "路径不能包含 NUL 字符"))
    drive = DRIVE.match(path)
    if drive and not os.path.lexists(_join(root, path)):
        path = path[drive.end() :].lstrip("/")
        if not path:
            raise _wrong("path-empty", Text("name a notebook, not only a drive", "请指定一个 notebook，而不仅是驱动器"))
    return _join(root, path)


def _join(root: Path, path: str) -> str:
    joined = posixpath.normpath(posixpath.join(str(root), path))
    return "/" + joined.lstrip("/")


def _wrong(code: str, message: Text) -> Invalid:
    return Invalid([FieldError("path", code, message)])
