"""Taking away what was made, and saying what a disk refuses."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from siflab.environments.kernels import remove_spec
from siflab.environments.pip import disk_full, quota_reached
from siflab.environments.store import MAKING, RECORD, Environment, Store
from siflab.errors import Internal
from siflab.text import Text


@contextmanager
def in_words(root: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise Internal(disk_full() if error.errno == errno.ENOSPC else quota_reached()) from error
        where = error.filename or root
        words = error.strerror or str(error)
        raise Internal(
            Text(
                f"{os.fspath(where)} cannot be written ({words}); check its permissions, or choose another --root",
                f"无法写入 {os.fspath(where)}（{words}）；请检查权限，或另选 --root",
            )
        ) from error


def take_away(store: Store, environment: Environment) -> None:
    """The kernel and the record go first, so that nobody uses what is half gone. Only what we made is removed."""
    remove_spec(store.place, environment)
    record = store.folder(environment.name, environment.id)
    folder = Path(environment.folder)
    if folder.parts[-2:] == (environment.name, environment.id):
        for part in ("venv", "work"):
            shutil.rmtree(folder / part, ignore_errors=True)
    for name in (RECORD, MAKING):
        with suppress(OSError):
            (record / name).unlink()
    for empty in (folder, folder.parent, record, record.parent):
        with suppress(OSError):
            empty.rmdir()


def which(name: str, versions: list[Environment]) -> Text:
    listed_en = ", ".join(f"{each.id} ({each.title.get('en')})" for each in versions)
    listed_zh = "、".join(f"{each.id}（{each.title.get('zh')}）" for each in versions)
    return Text(
        f"say with --id which environment {name} is meant: {listed_en}",
        f"请用 --id 指明是哪一个环境 {name}：{listed_zh}",
    )
