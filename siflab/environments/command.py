"""`siflab env`: in a session by itself, on a login node inside the image (`siflab.cli.env`).

Exit codes are those of `siflab`: 0 done, 2 wrong arguments or not possible so, 3 no such environment, 70 something of
the machine failed, 130 interrupted.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from siflab.environments.arguments import build, pick
from siflab.environments.making import Making, Rebuilt, create, install, rebuild, remove
from siflab.environments.place import Place
from siflab.environments.requirements import checked, from_file
from siflab.environments.stop import Stop, Stopped
from siflab.environments.store import STATES, Environment, Store
from siflab.errors import Internal, Invalid, NotFound, SiflabError
from siflab.text import Text, terminal_language


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    words = list(arguments)
    given = words[1] if words[:1] == ["--place"] and len(words) > 1 else None
    try:
        options = build().parse_args(words[2:] if given else words)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    stop = Stop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop.request)  # what is half made is cleared away
    options.making = Making(step=_warn, say=_say_line, stop=stop)
    try:
        place = Place.from_json(given) if given else Place.of_session()
        if place is None:
            raise Internal(_nowhere())
        return _COMMANDS[options.command](place, options)
    except SiflabError as error:
        return _explain(error)


def _create(place: Place, options: argparse.Namespace) -> int:
    packages = checked(options.packages)
    if options.requirements:
        packages = checked([*from_file(Path(options.requirements)), *packages], options=True)
    made = create(
        place,
        options.name,
        packages,
        root=options.root,
        from_source=options.from_source,
        again=options.again,
        making=options.making,
    )
    _tell(made, options, _made(made))
    return 0


def _install(place: Place, options: argparse.Namespace) -> int:
    made = install(place, options.name, options.packages, from_source=options.from_source, making=options.making)
    _tell(made, options, _made(made))
    return 0


def _rebuild(place: Place, options: argparse.Namespace) -> int:
    done = rebuild(place, options.name, again=options.again, making=options.making)
    if options.json:
        changes = {name: list(pair) for name, pair in done.changes.items()}
        _print({**done.environment.as_dict(), "changes": changes})
        return 0
    _say(_made(done.environment))
    _say(differences(done))
    return 0


def _remove(place: Place, options: argparse.Namespace) -> int:
    gone = remove(place, options.name, options.id, making=options.making)
    text = Text(f"the environment {gone.name} ({gone.id}) was removed", f"环境 {gone.name}（{gone.id}）已删除")
    _tell(gone, options, text)
    return 0


def _list(place: Place, options: argparse.Namespace) -> int:
    found = Store(place).all()
    if options.json:
        image = {"id": place.image_id, "identity": place.identity, "title": place.title.as_dict()}
        _print({"image": image, "environments": [each.as_dict() for each in found]})
        return 0
    if not found:
        _say(Text("no environments yet; make one with `siflab env create NAME PACKAGE ...`",
                  "还没有环境；可用 `siflab env create 名称 软件包 ...` 创建"))  # fmt: skip
    for each in found:
        title, state = each.title.get(terminal_language(), each.image_id), STATES[each.state].to(terminal_language())
        count = pick(f"{len(each.installed)} packages", f"{len(each.installed)} 个软件包")
        _say(Text.plain(f"{each.name:<16}  {each.id}  {title}  {count}  {state}"))
    return 0


def _show(place: Place, options: argparse.Namespace) -> int:
    versions = Store(place).versions(options.name)
    found = versions[0] if versions else Store(place).require(options.name)
    if options.json:
        _print(found.as_dict())
        return 0
    rows = [
        (pick("name", "名称"), found.name),
        (pick("state", "状态"), STATES[found.state].to(terminal_language())),
        (pick("image", "镜像"), f"{found.title.get(terminal_language(), found.image_id)} ({found.identity})"),
        (pick("kernel", "内核"), found.kernel),
        ("Python", found.python),
        (pick("folder", "目录"), found.folder),
        (pick("made", "创建时间"), found.created_at),
        (pick("asked for", "要求的软件包"), ", ".join(found.packages) or "-"),
        (pick("installed", "已安装"), ", ".join(found.installed) or "-"),
    ]
    for label, value in rows:
        _say(Text.plain(f"{label}: {value}"))
    if found.replaces:
        _say(_replaces(found))
    return 0


_COMMANDS: dict[str, Callable[[Place, argparse.Namespace], int]] = {
    "create": _create,
    "install": _install,
    "rebuild": _rebuild,
    "remove": _remove,
    "list": _list,
    "show": _show,
}


def _made(made: Environment) -> Text:
    text = Text(
        f"the environment {made.name} is ready: {len(made.installed)} packages in {made.folder}. Choose the kernel "
        f"{made.kernel} in a notebook, or run {made.venv}/bin/python",
        f"环境 {made.name} 已就绪：{made.folder} 中有 {len(made.installed)} 个软件包。"
        f"请在 notebook 中选择内核 {made.kernel}，或运行 {made.venv}/bin/python",
    )
    return Text(f"{text.en}\n{_replaces(made).en}", f"{text.zh}\n{_replaces(made).zh}") if made.replaces else text


def _replaces(made: Environment) -> Text:
    own = dict(line.split("==", 1) for line in made.installed)
    listed = ", ".join(f"{name} {version} -> {own.get(name, '?')}" for name, version in made.replaces.items())
    return Text(f"in the place of the image's own: {listed}", f"替代镜像自带的版本：{listed}")


def differences(done: Rebuilt) -> Text:
    """What a rebuild changed, in words."""
    if not done.changes:
        return Text("all versions are as they were", "所有版本与之前相同")
    listed = ", ".join(f"{name} {before or '-'} -> {now or '-'}" for name, (before, now) in done.changes.items())
    return Text(f"other versions than before: {listed}", f"与之前不同的版本：{listed}")


def _explain(error: SiflabError) -> int:
    if isinstance(error, Invalid):
        for each in error.errors:
            _warn(Text(f"siflab: {each.message.en}", f"siflab：{each.message.zh}"))
        return 2
    _warn(Text(f"siflab: {error.message.en}", f"siflab：{error.message.zh}"))
    if isinstance(error, Stopped):
        return 130
    return 3 if isinstance(error, NotFound) else 2 if error.status == 409 else 70


def _nowhere() -> Text:
    return Text(
        "this is no session: session.json is missing. On a login node use `siflab env`, which starts the image",
        "这里不是会话：缺少 session.json。在登录节点请使用 `siflab env`，它会启动镜像",
    )


def _tell(environment: Environment, options: argparse.Namespace, text: Text) -> None:
    if options.json:
        _print(environment.as_dict())
    else:
        _say(text)


def _say(text: Text) -> None:
    print(text.to(terminal_language()), flush=True)


def _warn(text: Text) -> None:
    print(text.to(terminal_language()), file=sys.stderr, flush=True)


def _say_line(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _print(value: object) -> None:
    print(json.dumps(value, indent=2), flush=True)
