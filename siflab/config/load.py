"""Reading site.yaml, with errors that name the file, the key, what is wrong and what would be right."""

import difflib
import json
import os
import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from siflab.config.models import Site
from siflab.text import Text

DEFAULT_PATHS = ("/run/siflab/site.json", "/etc/siflab/site.yaml")


class SiteError(Exception):
    """site.yaml cannot be used. `key` is the dotted key, empty if it is the file as a whole."""

    def __init__(self, path: str, key: str, message: Text) -> None:
        where = f"{path}: {key}: " if key else f"{path}: "
        self.path, self.key = path, key
        self.message = Text(where + message.en, where + message.zh)
        super().__init__(self.message.en)


class _Loader(yaml.SafeLoader):
    """YAML without base-60 numbers (an unquoted 2:00:00 stays text) and without silently repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} is there twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:int"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"^[-+]?(?:0|[1-9][0-9]*)$"), list("-+0123456789"))


def site_path(path: str | os.PathLike[str] | None = None) -> Path:
    """The file to read: `path`, else $SIFLAB_SITE, else a session's own, else /etc/siflab/site.yaml."""
    chosen = path or os.environ.get("SIFLAB_SITE")
    if chosen:
        return Path(chosen)
    return next((Path(name) for name in DEFAULT_PATHS if Path(name).exists()), Path(DEFAULT_PATHS[-1]))


def load_site(path: str | os.PathLike[str] | None = None) -> Site:
    """The site. Raises SiteError for a file that is missing, no YAML, or says something that cannot be."""
    file = site_path(path)
    try:
        text = file.read_text("utf-8")
    except OSError as error:
        raise SiteError(
            str(file),
            "",
            Text(
                f"cannot be read ({error.strerror}); give its path in SIFLAB_SITE, or ask your administrator",
                f"无法读取（{error.strerror}）；请用 SIFLAB_SITE 指定路径，或联系管理员",
            ),
        ) from error
    except UnicodeDecodeError as error:
        raise SiteError(str(file), "", Text(f"is no UTF-8 text ({error})", f"不是 UTF-8 文本（{error}）")) from error
    try:
        data = json.loads(text) if file.suffix == ".json" else yaml.load(text, _Loader)  # noqa: S506 (a SafeLoader)
    except (yaml.YAMLError, ValueError) as error:
        raise SiteError(str(file), "", Text(f"is no valid YAML: {error}", f"不是有效的 YAML：{error}")) from error
    return parse_site(data, str(file))


def parse_site(data: object, path: str = "site.yaml") -> Site:
    """The site from what YAML gave. Raises SiteError."""
    if not isinstance(data, dict):
        raise SiteError(path, "", Text("must be a mapping of keys, such as `name:`", "应为键值映射，例如 `name:`"))
    try:
        return Site.model_validate(data)
    except ValidationError as error:
        found = error.errors(include_url=False)
        first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])  # it explains a missing one
        key, message = _in_words(first["loc"], first["type"], first["msg"], data)
        raise SiteError(path, key, message) from error


def _in_words(location: tuple[int | str, ...], kind: str, message: str, data: object) -> tuple[str, Text]:
    key = ".".join(str(part) for part in location if part != "[key]")
    words = message.removeprefix("Value error, ")
    if not key and ": " in words:  # our own validators of the whole site name the key themselves
        key, _, words = words.partition(": ")
    if kind == "extra_forbidden":
        known = _known_keys(location)
        near = difflib.get_close_matches(str(location[-1]), known, n=1)
        listed = ", ".join(sorted(known))
        hint = Text(f"; did you mean `{near[0]}`?", f"；是否想写 `{near[0]}`？") if near else Text(".", "。")
        return key, Text(
            f"there is no such key{hint.en} Known here: {listed}", f"没有这个键{hint.zh} 可用的键：{listed}"
        )
    if kind == "missing":
        return key, Text("this key is missing", "缺少这个键")
    if kind == "string_pattern_mismatch":
        return key, Text(
            f"{_value(location, data)!r} is not allowed here ({words})",
            f"此处不允许 {_value(location, data)!r}（{words}）",
        )
    return key, Text(words, words)


def _known_keys(location: tuple[int | str, ...]) -> list[str]:
    """The keys of the mapping in which the unknown one stands."""
    model: Any = Site
    for part in location[:-1]:
        if isinstance(model, type) and issubclass(model, BaseModel):
            field = model.model_fields.get(str(part))
            model = field.annotation if field else None
        else:
            arguments = [a for a in getattr(model, "__args__", ()) if a is not type(None)]
            model = arguments[-1] if arguments and not isinstance(part, int) else (arguments[0] if arguments else None)
        while getattr(model, "__args__", None) and type(None) in model.__args__:
            model = next(a for a in model.__args__ if a is not type(None))
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, BaseModel) else []


def _value(location: tuple[int | str, ...], data: object) -> object:
    for part in location:
        try:
            data = data[part]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            return data
    return data
