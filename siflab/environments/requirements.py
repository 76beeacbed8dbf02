"""What a person asks to be installed: lines as pip reads them from a requirements file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from siflab.errors import FieldError, Invalid
from siflab.text import Text

LIMIT, LONGEST = 2000, 500
_PASSWORD = re.compile(r"://[^/\s@]*@")
_ALLOWED = ("--index-url", "-i", "--extra-index-url", "--find-links", "-f", "--no-index", "--pre")


def checked(lines: Iterable[str], *, options: bool = False) -> list[str]:
    """The lines without comments, blanks and repetitions. `options` are good in a file only. Raises Invalid."""
    found: list[str] = []
    for raw in lines:
        line = re.split(r"(?:^|\s)#", raw, maxsplit=1)[0].strip()
        if not line:
            continue
        problem = _problem(line, options)
        if problem is not None:
            raise Invalid([FieldError("packages", "bad-package", problem)])
        if line not in found:
            found.append(line)
    if len(found) > LIMIT:
        message = Text(f"these are more than {LIMIT} packages", f"软件包超过 {LIMIT} 个")
        raise Invalid([FieldError("packages", "too-many-packages", message)])
    return found


def from_file(path: Path) -> list[str]:
    """The lines of a requirements file. Raises Invalid."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        words = error.strerror if isinstance(error, OSError) else "UTF-8"
        message = Text(f"{path} cannot be read ({words})", f"无法读取 {path}（{words}）")
        raise Invalid([FieldError("requirements", "unreadable", message)]) from None
    return checked(re.sub(r"\\\r?\n", " ", text).splitlines(), options=True)


def merged(before: list[str], more: list[str]) -> list[str]:
    """The list with `more`, whose wish for a package replaces an earlier one for the same."""
    names = {project(line) for line in more} - {None}
    return [*(line for line in before if line not in more and project(line) not in names), *more]


def project(line: str) -> str | None:
    """The name of the package that a line asks for, as it is compared (PEP 503); None for an address or an option."""
    match = re.match(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:$|[\[<>=!~;@(\s])", line, re.ASCII)
    return re.sub(r"[-_.]+", "-", match[1]).lower() if match else None


def _problem(line: str, options: bool) -> Text | None:
    if len(line) > LONGEST or not line.isprintable():
        return Text(f"{line[:40]!r}... is no package", f"{line[:40]!r}… 不是软件包")
    if _PASSWORD.search(line):
        return Text(
            "an address with a user name or password would be kept in the list; put it into pip's own configuration "
            "or ~/.netrc",
            "带有用户名或密码的地址会被保存在列表中；请改写到 pip 配置或 ~/.netrc 中",
        )
    if line.startswith("-") and not (options and re.split(r"[\s=]", line, maxsplit=1)[0] in _ALLOWED):
        return Text(
            f"{line!r} is an option, not a package; options of pip go into pip's own configuration (pip config set)",
            f"{line!r} 是选项而不是软件包；pip 的选项请写入 pip 配置（pip config set）",
        )
    if line.startswith(("./", "../")):
        return Text(
            f"{line!r}: write the whole path, so that it is found when the environment is rebuilt",
            f"{line!r}：请写完整路径，以便重建环境时能找到",
        )
    return None
