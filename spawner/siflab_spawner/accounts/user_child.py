"""What is looked at, or made, on a file system as the user: a program of its own, so that a file system that hangs
harms nobody and so that nothing is done with root's rights.

It is given to a Python as ``-I -S -c <this text>`` and runs on Python 3.6 and later with the standard library alone.
For a Hub that is not root the launcher does the same (launcher/siflab-launcher).
Standard input: one JSON object with ``task`` and its arguments. Standard output: one JSON object.
"""

# ruff: noqa: PTH103, PTH108, PTH110, PTH112, PTH114

import errno
import json
import os
import re
import stat
import sys
import time

_MAGIC_OFFSET, _MAGIC = 32, b"SIF_MAGIC"


def prepare(log_folder, image, sources, keep_days):
    """Make the folder of session logs (0700), drop old logs, and look at the image and the sources of the binds."""
    return {
        "log_folder": _make_log_folder(log_folder, keep_days),
        "image": _look_at_image(image),
        "missing": [source for source in sources if not os.path.exists(source)],
    }


def _make_log_folder(folder, keep_days):
    """Old logs of jobs go, but not through a link that leads to other files of the user."""
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        oldest = time.time() - keep_days * 86400
        for entry in [] if os.path.islink(folder) else list(os.scandir(folder)):
            status = entry.stat(follow_symlinks=False)
            if re.fullmatch(r"[0-9_]+\.log", entry.name) and stat.S_ISREG(status.st_mode) and status.st_mtime < oldest:
                os.unlink(entry.path)
    except OSError as error:
        return {"ok": False, "words": os.strerror(error.errno or errno.EIO)}
    return {"ok": True, "words": ""}


def _look_at_image(path):
    try:
        if os.path.isdir(path):
            return {"problem": None, "words": ""}
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as stream:
            head = stream.read(_MAGIC_OFFSET + len(_MAGIC)) or b""
    except FileNotFoundError:
        return {"problem": "missing", "words": ""}
    except OSError as error:
        return {"problem": "unreadable", "words": os.strerror(error.errno or errno.EIO)}
    return {"problem": None if head[_MAGIC_OFFSET:] == _MAGIC else "no-image", "words": ""}


def tail(path, limit):
    """The last `limit` bytes of a regular file; a symbolic link is not followed, a FIFO does not block."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        return {"text": "", "words": os.strerror(error.errno or errno.EIO)}
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        return {"text": "", "words": "not a regular file"}
    with os.fdopen(descriptor, "rb") as stream:
        stream.seek(max(0, status.st_size - limit))
        return {"text": stream.read(limit).decode("utf-8", "replace"), "words": ""}


def main():
    request = json.load(sys.stdin)
    task = {"prepare": prepare, "tail": tail}[request.pop("task")]
    json.dump(task(**request), sys.stdout)


main()
