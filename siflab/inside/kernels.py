"""Which kernel of the image runs the notebook, and where it listens."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from .notebook import Notebook

SOCKET_PATH_LIMIT = 107
"""Bytes of a Unix socket's path (unix(7))."""
PREFIX = "siflab-kernel-"


class NoSuchKernel(Exception):
    """The image has no kernel for the notebook; says which it wants and which there are, `zh` in Chinese."""

    def __init__(self, en: str, zh: str) -> None:
        super().__init__(en)
        self.zh = zh


def choose_kernel(wanted: str | None, notebook: Notebook, specs: dict[str, dict[str, Any]]) -> str:
    """The kernel to run `notebook`: the wanted one, else the notebook's own, else one of the same language (a notebook
    made with the kernel ``conda-env-mine-py`` runs with the image's ``python3``).

    `specs` is what `KernelSpecManager.get_all_specs` gives. Raises NoSuchKernel; a kernel asked for by name in the
    request is not replaced by another."""
    if wanted:
        if wanted in specs:
            return wanted
        raise NoSuchKernel(
            f"the image has no kernel named {wanted!r}; it has: {_listed(specs)}",
            f"镜像中没有名为 {wanted!r} 的内核；现有：{_listed(specs)}",
        )
    kernelspec = notebook["metadata"].get("kernelspec") or {}
    language_info = notebook["metadata"].get("language_info") or {}
    name = kernelspec.get("name")
    if name in specs:
        return str(name)
    language = str(kernelspec.get("language") or language_info.get("name") or "").lower()
    if not language and (name is None or "python" in str(name).lower()):
        language = "python"
    same = sorted(key for key, spec in specs.items() if str(spec["spec"].get("language", "")).lower() == language)
    if same:
        return "python3" if "python3" in same else same[0]
    asked = f"kernel {name!r}" if name else f"language {language!r}"
    raise NoSuchKernel(
        f"the notebook asks for {asked}, which the image does not have; it has: {_listed(specs)}",
        f"notebook 需要 {asked}，镜像中没有；现有：{_listed(specs)}",
    )


def _listed(specs: dict[str, Any]) -> str:
    return ", ".join(sorted(specs)) or "none (is ipykernel installed?)"


class SocketFolder:
    """A private folder with a short path for a kernel's connection file and its sockets.

    Unix sockets, since a port may be taken by another job between the choice and its use, and can be reached by
    anyone on the node. Once all are connected nothing needs their names: `remove` it then, so that a run that is
    killed leaves none."""

    def __init__(self) -> None:
        self.path: Path | None = None
        self._lock: int | None = None
        # with /siflab-kernel-xxxxxxxx/k-ipc-5 behind it
        for parent in (os.environ.get("TMPDIR"), "/tmp", os.environ.get("XDG_RUNTIME_DIR"), "/dev/shm"):
            if parent and os.access(parent, os.W_OK | os.X_OK) and len(os.fsencode(parent)) < SOCKET_PATH_LIMIT - 40:
                _sweep(Path(parent))
                self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
                self._lock = _lock(self.path)
                return

    def configure(self, manager: Any) -> None:
        """Tell a `KernelManager`, before it starts its kernel; without a folder it keeps to TCP on 127.0.0.1."""
        if self.path is not None:
            manager.transport = "ipc"
            manager.connection_file = str(self.path / "k.json")

    def remove(self) -> None:
        if self.path is not None:
            shutil.rmtree(self.path, ignore_errors=True)
            self.path = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock(folder: Path) -> int:
    """Mark a folder as in use for as long as this process lives. The file gets its name when it is locked already."""
    descriptor = os.open(folder / "new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    (folder / "new").rename(folder / "lock")
    return descriptor


def _sweep(parent: Path) -> None:
    """Remove what runners of this user left that were killed in their first seconds: folders whose lock nobody holds.
    Not by process id, which another container counts otherwise."""
    for folder in parent.glob(f"{PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:
            continue
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            pass
        finally:
            os.close(descriptor)
