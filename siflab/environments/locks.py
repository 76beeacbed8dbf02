"""Nobody works on one environment twice at once, on this node or on another.

A lock is a file with an flock, which ends with its process. Where a shared file system keeps flocks to one node, the
file's time tells: who holds it touches it every 20 s.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from siflab.errors import Conflict
from siflab.text import Text

LOCKS = ".locks"
BEAT = 20.0
_TRIES, _PAUSE = 5, 0.1  # who only looks whether a lock is held has it for a moment
ABANDONED = 180.0
"""Seconds without a sign of life after which a lock of another node is nobody's any more."""


@contextmanager
def locked(root: Path, name: str, image: str) -> Iterator[None]:
    """Raises Conflict when somebody works on it, OSError when no lock can be made."""
    path = _path(root, name, image)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    stop = threading.Event()
    try:
        host = _host(descriptor)
        if not _take(descriptor, _TRIES) or (host not in ("", os.uname().nodename) and _is_alive(path)):
            raise Conflict(_busy(name, host))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, os.uname().nodename.encode(), 0)
        beating = threading.Thread(target=_beat, args=(descriptor, stop), daemon=True)
        beating.start()
        try:
            yield
        finally:
            stop.set()
            beating.join()
            os.ftruncate(descriptor, 0)  # nobody's: its time says nothing any more
    finally:
        os.close(descriptor)


def is_held(root: Path, name: str, image: str) -> bool:
    path = _path(root, name, image)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        host = _host(descriptor)
        return host != "" and (not _take(descriptor) or (host != os.uname().nodename and _is_alive(path)))
    finally:
        os.close(descriptor)


def _path(root: Path, name: str, image: str) -> Path:
    return root / LOCKS / f"{name}-{image}"


def _take(descriptor: int, tries: int = 1) -> bool:
    for left in reversed(range(tries)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE)
            continue
        except OSError:  # a file system without locks: the time has to do
            return True
        return True
    return False


def _host(descriptor: int) -> str:
    return os.pread(descriptor, 255, 0).decode("utf-8", "replace")


def _is_alive(path: Path) -> bool:
    """By the clock of the file system, which need not be ours."""
    probe = path.with_name(f".now-{os.getpid()}-{threading.get_ident()}")
    try:
        probe.touch(mode=0o600)
        return probe.stat().st_mtime - path.stat().st_mtime < ABANDONED
    except OSError:
        return True
    finally:
        with suppress(OSError):
            probe.unlink()


def _beat(descriptor: int, stop: threading.Event) -> None:
    while not stop.wait(BEAT):
        with suppress(OSError):
            os.utime(descriptor)


def _busy(name: str, host: str) -> Text:
    where = host or os.uname().nodename
    return Text(
        f"somebody works on the environment {name} just now (a process of yours on {where}); wait until that is done, "
        "or end it, and try again",
        f"环境 {name} 正在被处理（您在 {where} 上的进程）；请等它完成或结束它后再试",
    )
