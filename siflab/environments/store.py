"""The records of environments: what there is, and in which state."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from siflab.environments.place import Place
from siflab.errors import FieldError, Invalid, NotFound
from siflab.text import Text

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,30}", re.ASCII)
ID = re.compile(r"[0-9a-f]{12}", re.ASCII)
RECORD, MAKING = "environment.json", "making.json"
STATES: dict[str, Text] = {
    "ready": Text("ready", "可用"),
    "earlier": Text("for another image: rebuild it to use it here", "属于另一个镜像：重建后才能在此使用"),
    "lost": Text("its files are gone (scratch was cleaned?): rebuild it", "文件已丢失（scratch 被清理？）：请重建"),
    "unfinished": Text(
        "unfinished: its making was interrupted; rebuild or remove it", "未完成：创建过程被中断；请重建或删除"
    ),
    "making": Text("being made", "正在创建"),
}


@dataclass(frozen=True)
class Environment:
    """`packages` is what was asked for, `installed` what that came to (``name==version``, sorted), `replaces` what of
    it stands before a package of the image (name -> the image's version). Times are ISO 8601. `folder` holds ``venv``.
    """

    name: str
    identity: str
    image_id: str
    image_path: str
    title: dict[str, str]
    folder: str
    python: str = ""
    packages: list[str] = field(default_factory=list)
    from_source: bool = False
    installed: list[str] = field(default_factory=list)
    replaces: dict[str, str] = field(default_factory=dict)
    created_at: str = ""
    changed_at: str = ""
    version: int = 1
    state: str = "ready"

    @property
    def id(self) -> str:
        return self.identity.partition(":")[2][:12]

    @property
    def place(self) -> Path:
        """Where it was made, with all others there: the site's scratch, the home, or what the person named."""
        return Path(self.folder).parent.parent

    @property
    def venv(self) -> Path:
        return Path(self.folder) / "venv"

    @property
    def kernel(self) -> str:
        return f"siflab-{self.name}"

    def record(self) -> dict[str, Any]:
        """environment.json."""
        return {name: value for name, value in asdict(self).items() if name != "state"}

    def as_dict(self) -> dict[str, Any]:
        """The `Environment` of openapi.yaml."""
        shown = ("name", "image_id", "title", "folder", "python", "packages", "installed", "replaces", "created_at")
        own = asdict(self)
        return {
            "id": self.id,
            "kernel": self.kernel,
            "state": self.state,
            "state_text": STATES[self.state].as_dict(),
            **{name: own[name] for name in shown},
        }

    @classmethod
    def from_record(cls, data: dict[str, Any]) -> Environment | None:
        """None when it is not ours, or is damaged."""
        known = {each.name: each for each in fields(cls)}
        try:
            found = cls(**{name: value for name, value in data.items() if name in known and name != "state"})
        except TypeError:
            return None
        texts = (found.name, found.identity, found.folder, found.image_id, found.image_path)
        whole = all(isinstance(text, str) for text in texts) and isinstance(found.title, dict)
        listed = all(isinstance(lines, list) for lines in (found.packages, found.installed))
        whole = whole and listed and isinstance(found.replaces, dict)
        return found if whole and NAME.fullmatch(found.name) and ID.fullmatch(found.id) else None


class Store:
    """The environments of one person, seen from one image."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.root = place.root

    def folder(self, name: str, image: str | None = None) -> Path:
        """Where the record of an environment lies; `image` is the ID of an image, this one's if left out."""
        return self.root / name / (image or self.place.id)

    def all(self) -> list[Environment]:
        """By name; this image's first, then the newest. Raises OSError when the folder cannot be read."""
        found = [self._read(name, image) for name, image in self._entries()]
        environments = [each for each in found if each is not None]
        environments.sort(key=lambda each: each.created_at, reverse=True)
        return sorted(environments, key=lambda each: (each.name, each.id != self.place.id))

    def get(self, name: str, image: str | None = None) -> Environment | None:
        return self._read(name, image or self.place.id)

    def versions(self, name: str) -> list[Environment]:
        """Those of one name, over all images."""
        return [each for each in self.all() if each.name == name]

    def require(self, name: str) -> Environment:
        """The one for this image. Raises NotFound with the way on."""
        found = self.get(name)
        if found is not None:
            return found
        if self.versions(name):
            raise NotFound(
                Text(
                    f"the environment {name} was made for another image; make it for this one with "
                    f"`siflab env rebuild {name}`",
                    f"环境 {name} 属于另一个镜像；请用 `siflab env rebuild {name}` 为本镜像重建",
                )
            )
        raise no_such(name, sorted({each.name for each in self.all()}))

    def write(self, environment: Environment) -> None:
        folder = self.folder(environment.name, environment.id)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / RECORD, environment.record())

    def _entries(self) -> list[tuple[str, str]]:
        try:
            names = sorted(entry.name for entry in os.scandir(self.root) if NAME.fullmatch(entry.name))
        except (FileNotFoundError, NotADirectoryError):
            return []
        pairs = []
        for name in names:
            with suppress(OSError):
                pairs += [(name, one.name) for one in os.scandir(self.root / name) if ID.fullmatch(one.name)]
        return pairs

    def _read(self, name: str, image: str) -> Environment | None:
        from siflab.environments.locks import is_held

        folder = self.folder(name, image)
        record = read_json(folder / RECORD)
        found = Environment.from_record(record or {})
        if found is not None and (found.name, found.id) == (name, image):
            state = "ready" if image == self.place.id else "earlier"
            if state == "ready" and self.place.sees_files and not (found.venv / "pyvenv.cfg").exists():
                state = "lost"
            return _with_state(found, state)
        making = Environment.from_record(read_json(folder / MAKING) or {})
        if making is None or (making.name, making.id) != (name, image):
            return None
        return _with_state(making, "making" if is_held(self.root, name, image) else "unfinished")


def no_such(name: str, known: list[str]) -> NotFound:
    listed = ", ".join(known) or "-"
    return NotFound(
        Text(
            f"there is no environment {name}; there are: {listed}. Make one with `siflab env create {name}`",
            f"没有环境 {name}；现有：{listed}。可用 `siflab env create {name}` 创建",
        )
    )


def check_name(name: str) -> str:
    """Raises Invalid."""
    if NAME.fullmatch(name):
        return name
    raise Invalid(
        [
            FieldError(
                "name",
                "bad-name",
                Text(
                    f"{name!r} cannot be the name of an environment: use small letters, digits, - and _, at most 31",
                    f"{name!r} 不能作为环境名称：请用小写字母、数字、- 和 _，最多 31 个字符",
                ),
            )
        ]
    )


def _with_state(environment: Environment, state: str) -> Environment:
    return replace(environment, state=state)


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Replace a file atomically. Raises OSError, and leaves nothing then."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("w", encoding="utf-8") as stream:
            json.dump(value, stream, ensure_ascii=True, indent=1)
            stream.write("\n")
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def read_json(path: Path) -> dict[str, Any] | None:
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
