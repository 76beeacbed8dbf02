"""Making, changing and removing environments.

An interrupted creation leaves nothing where it could clean up (Ctrl-C, a failure), and an unfinished environment, which
is seen as such and can be removed, where it could not (a killed process). Every function raises `SiflabError` only.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from siflab.environments.building import check_kernel, make_venv, require_own
from siflab.environments.clearing import in_words, take_away, which
from siflab.environments.kernels import write_spec
from siflab.environments.locks import locked
from siflab.environments.pip import Pip
from siflab.environments.place import Place
from siflab.environments.requirements import checked, merged
from siflab.environments.stop import Stop
from siflab.environments.store import MAKING, Environment, Store, check_name, write_json
from siflab.errors import Conflict, FieldError, Invalid
from siflab.text import Text


@dataclass(frozen=True)
class Making:
    """How the work is followed: `step` hears what is done, in words; `say` hears pip's lines. `stop` ends it."""

    step: Callable[[Text], None] = lambda _: None
    say: Callable[[str], None] = lambda _: None
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True)
class Rebuilt:
    """`changes`: one entry for each package whose version differs, name -> (before or None, now or None)."""

    environment: Environment
    changes: dict[str, tuple[str | None, str | None]] = field(default_factory=dict)


def create(
    place: Place,
    name: str,
    packages: list[str],
    *,
    root: str | None = None,
    from_source: bool = False,
    again: bool = False,
    making: Making | None = None,
) -> Environment:
    """`packages` are lines as pip reads them (`requirements`). `root`: see `Place.chosen_root`. `again`: an unfinished
    or lost one of that name is removed first."""
    making = making or Making()
    check_name(name)
    folder = _folder_for(place, name, root)
    store = Store(place)
    with in_words(store.root), locked(store.root, name, place.id):
        _make_way(store, name, again)
        now = _now()
        wanted = Environment(
            name=name,
            identity=place.identity,
            image_id=place.image_id,
            image_path=place.image_path,
            title=place.title.as_dict(),
            folder=str(folder),
            python=platform.python_version(),
            packages=packages,
            from_source=from_source,
            created_at=now,
            changed_at=now,
        )
        return _make(store, wanted, making)


def install(
    place: Place,
    name: str,
    packages: list[str],
    *,
    from_source: bool = False,
    making: Making | None = None,
) -> Environment:
    """Add packages to an environment. When pip fails its list stays as it was, and what is there is noted."""
    making = making or Making()
    check_name(name)
    packages = checked(packages)
    if not packages:
        raise Invalid([FieldError("packages", "none", Text("name a package", "请指定软件包"))])
    store = Store(place)
    with in_words(store.root), locked(store.root, name, place.id):
        before = store.require(name)
        _must_be_ready(before)
        require_own(before)
        after = replace(
            before,
            packages=merged(before.packages, packages),
            from_source=before.from_source or from_source,
            changed_at=_now(),
        )
        try:
            found = _install(before.venv, packages, from_source, making)
        except BaseException:
            with suppress(Exception):
                found = _installed(before.venv, Stop())
                store.write(replace(before, installed=found[0], replaces=found[1]))
            raise
        after = replace(after, installed=found[0], replaces=found[1])
        store.write(after)
        return after


def rebuild(place: Place, name: str, *, again: bool = False, making: Making | None = None) -> Rebuilt:
    """Make the newest environment of that name, from another image, for this one: the same list, in the same kind of
    place. The old one stays. One that is unfinished or has lost its files is made anew; `again`: one that is well, too.
    """
    store = Store(place)
    here = store.get(name)
    if here is not None and here.state == "ready" and not again:
        raise Conflict(
            Text(
                f"the environment {name} is there for this image; to make it anew from its list add --again",
                f"环境 {name} 已适用于本镜像；若要按列表重新创建，请加 --again",
            )
        )
    usable = [each for each in store.versions(name) if each.state != "making"]
    old = here if here in usable else next(iter(usable), None)
    if old is None:
        old = store.require(name)  # raises NotFound, or it is being made
        _must_be_ready(old)
    try:
        if here is not None:
            remove(place, name, place.id, making=making)
        new = create(place, name, old.packages, root=_same_root(place, old), from_source=old.from_source, making=making)
    except BaseException:
        if here is not None and store.get(name) is None:  # its list is not lost
            with suppress(OSError):
                store.folder(name).mkdir(parents=True, exist_ok=True)
                write_json(store.folder(name) / MAKING, here.record())
        raise
    return Rebuilt(new, _changes(old.installed, new.installed))


def remove(place: Place, name: str, image: str | None = None, *, making: Making | None = None) -> Environment:
    """`image` is the ID of an image; it must be said where there is more than one."""
    making = making or Making()
    check_name(name)
    store = Store(place)
    versions = store.versions(name)
    matching = [each for each in versions if image in (None, each.id)]
    if not matching:
        store.require(name)  # raises NotFound
        raise Invalid([FieldError("id", "no-such-id", which(name, versions))])
    if len(matching) > 1:
        raise Invalid([FieldError("id", "ambiguous", which(name, versions))])
    (found,) = matching
    with in_words(store.root), locked(store.root, name, found.id):
        making.step(Text(f"removing {found.folder}", f"正在删除 {found.folder}"))
        take_away(store, found)
    return found


def _make_way(store: Store, name: str, again: bool) -> None:
    there = store.get(name)
    if there is None:
        return
    if there.state == "ready":
        raise Conflict(
            Text(
                f"there is an environment {name} for this image; add packages to it with `siflab env install {name} "
                "PACKAGE`, or choose another name",
                f"本镜像已有环境 {name}；可用 `siflab env install {name} 软件包` 添加软件包，或换一个名称",
            )
        )
    if not again:
        _must_be_ready(there)
    take_away(store, there)


def _must_be_ready(there: Environment) -> None:
    if there.state == "lost":
        raise Conflict(
            Text(
                f"the files of the environment {there.name} are gone from {there.folder}; make it anew with "
                f"`siflab env rebuild {there.name}`",
                f"环境 {there.name} 的文件已不在 {there.folder}；请用 `siflab env rebuild {there.name}` 重建",
            )
        )
    if there.state != "ready":  # whoever made it holds no lock any more: we have it
        raise Conflict(
            Text(
                f"the making of the environment {there.name} was interrupted; finish it with `siflab env rebuild "
                f"{there.name}`, or remove what is left with `siflab env remove {there.name}`",
                f"环境 {there.name} 的创建曾被中断；请用 `siflab env rebuild {there.name}` 完成，"
                f"或用 `siflab env remove {there.name}` 清理",
            )
        )


def _make(store: Store, wanted: Environment, making: Making) -> Environment:
    record = store.folder(wanted.name)
    try:
        record.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_json(record / MAKING, wanted.record())
        making.step(Text(f"making {wanted.folder}", f"正在创建 {wanted.folder}"))
        make_venv(wanted, making.stop)
        installed, replaces = _install(wanted.venv, wanted.packages, wanted.from_source, making)
        done = replace(wanted, installed=installed, replaces=replaces)
        check_kernel(done)
        write_spec(store.place, done)
        store.write(done)
        (record / MAKING).unlink()
    except BaseException:
        take_away(store, wanted)
        raise
    return done


def _install(venv: Path, packages: list[str], from_source: bool, making: Making) -> tuple[list[str], dict[str, str]]:
    work = venv.parent / "work"  # beside it: /tmp of a node is small, and a wheel may have gigabytes
    work.mkdir(exist_ok=True, mode=0o700)
    try:
        if packages:
            listed = ", ".join(packages[:8]) + (" ..." if len(packages) > 8 else "")
            making.step(Text(f"installing {listed}", f"正在安装 {listed}"))
            Pip(venv, work, making.say, making.stop).install(packages, from_source)
        return _installed(venv, making.stop)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _installed(venv: Path, stop: Stop) -> tuple[list[str], dict[str, str]]:
    return Pip(venv, venv, lambda _: None, stop).installed()


def _folder_for(place: Place, name: str, root: str | None) -> Path:
    if root == "scratch" and not place.scratch:
        message = Text("this site has no scratch folder for environments", "本站点没有供环境使用的 scratch 目录")
        raise Invalid([FieldError("root", "no-scratch", message)])
    chosen = place.chosen_root(root)
    if not chosen.is_absolute() or any(character in str(chosen) for character in "\n\r:"):
        message = Text("use scratch, home or an absolute path", "请使用 scratch、home 或绝对路径")
        raise Invalid([FieldError("root", "no-path", message)])
    return chosen / name / place.id


def _same_root(place: Place, old: Environment) -> str | None:
    """The scratch or home of today for one that lay there, the same folder for one that lay elsewhere."""
    return next((name for name, path in place.roots().items() if path == old.place), str(old.place))


def _changes(before: list[str], after: list[str]) -> dict[str, tuple[str | None, str | None]]:
    old, new = (dict(line.split("==", 1) for line in lines if "==" in line) for lines in (before, after))
    names = sorted({*old, *new}, key=str.lower)
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")
