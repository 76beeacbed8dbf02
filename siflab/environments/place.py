"""Where we are: the image, and the folders in which environments may lie, all as the container has them."""

from __future__ import annotations

import json
import os
import posixpath
import pwd
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from siflab.errors import Internal
from siflab.text import Text

FOLDER = ".siflab/environments"
"""Below the home: the records, and the environments of who chose no other place."""
IDENTITY = re.compile(r"(?:sif|sha256):([0-9a-f]{64})", re.ASCII)


def short(identity: str) -> str:
    """The ID of an identity, as folders are named. Raises ValueError for what is no identity."""
    match = IDENTITY.fullmatch(identity)
    if not match:
        raise ValueError(f"no identity of an image: {identity!r}")
    return match[1][:12]


@dataclass(frozen=True)
class Place:
    """`identity` is the image's; `home` and `scratch` are folders; `scratch` is None where the site names none.
    `sees_files`: paths in records are those of this process, which on a login node they are not."""

    identity: str
    image_id: str
    image_path: str
    title: Text
    home: str
    scratch: str | None = None
    sees_files: bool = True
    host: str = field(default_factory=lambda: os.uname().nodename)

    @property
    def id(self) -> str:
        return short(self.identity)

    @property
    def root(self) -> Path:
        """The folder of the records."""
        return Path(self.home) / FOLDER

    def roots(self) -> dict[str, Path]:
        """Where an environment may lie, by name; the first is what the site prefers."""
        home = {"home": self.root}
        return {"scratch": Path(self.scratch), **home} if self.scratch else home

    def chosen_root(self, wish: str | None) -> Path:
        """`wish` is a name of `roots`, an absolute path, or None for the site's choice."""
        roots = self.roots()
        if wish in (None, ""):
            return next(iter(roots.values()))
        assert wish is not None
        return roots.get(wish) or Path(wish)

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "title": self.title.as_dict()})

    @classmethod
    def from_json(cls, text: str) -> Place:
        data = json.loads(text)
        return cls(**{**data, "title": Text(data["title"]["en"], data["title"]["zh"])})

    @classmethod
    def of_session(cls) -> Place | None:
        """The session that this process runs in; None outside of one. Raises Internal when its image is not known."""
        session = _read(os.environ.get("SIFLAB_SESSION") or "/run/siflab/session.json")
        site = _read(os.environ.get("SIFLAB_SITE") or "/run/siflab/site.json")
        if not session:
            return None
        image_id = str(session.get("image_id") or "")
        image = (site.get("images") or {}).get(image_id) or {}
        title = image.get("title") or {}
        found = str(session.get("image_identity") or "")
        if not IDENTITY.fullmatch(found):
            raise Internal(unknown_image())
        return cls(
            identity=found,
            image_id=image_id,
            image_path=str(session.get("image_path") or image.get("path") or ""),
            title=Text(str(title.get("en") or image_id), str(title.get("zh") or image_id)),
            home=os.environ.get("HOME") or str(session.get("home_inside") or Path.home()),
            scratch=scratch_folder(site, [str(bind) for bind in session.get("binds") or ()], account()),
        )


def unknown_image() -> Text:
    return Text(
        "it is not known which image file this session runs in, so no environment can be made for it. Start a new "
        "session; if that does not help, ask your administrator to state `images.ID.digest` in site.yaml",
        "无法确定本会话所用的镜像文件，因此不能为其创建环境。请重新启动会话；若无效，"
        "请管理员在 site.yaml 中写明 `images.ID.digest`",
    )


def scratch_folder(site: dict[str, Any], binds: list[str], user: str) -> str | None:
    """The user's folder below `environments.scratch` of site.yaml, as the container has it; None where there is none,
    or no bind (``/host:/inside[:ro]``) carries it to be written."""
    scratch = (site.get("environments") or {}).get("scratch")
    if not scratch or not user or "/" in user:
        return None
    pairs = sorted((bind.split(":") for bind in binds), key=lambda pair: len(pair[0]), reverse=True)
    for source, target, *mode in pairs:
        rest = posixpath.relpath(str(scratch), source)
        if rest == ".." or rest.startswith("../"):
            continue
        return posixpath.normpath(posixpath.join(target, rest, user)) if "ro" not in mode else None
    return None


def account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return os.environ.get("USER", "")


def _read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
