"""The arguments of `siflab env`."""

from __future__ import annotations

import argparse

from siflab.text import Text, terminal_language


def pick(en: str, zh: str) -> str:
    return Text(en, zh).to(terminal_language())


def build() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="siflab env",
        description=pick(
            "Your own packages on top of an image: an environment for one image, registered as a kernel.",
            "在镜像之上安装您自己的软件包：为某个镜像创建的环境，并注册为内核。",
        ),
        epilog=pick(
            "pip's own configuration holds: index, mirror, proxy. On a login node `siflab env --image ID COMMAND` says "
            "for which image. Example: siflab env create nlp transformers datasets",
            "遵循您的 pip 配置（索引、镜像源、代理）。在登录节点上可用 `siflab env --image ID 命令` 指定镜像。"
            "示例：siflab env create nlp transformers datasets",
        ),
    )
    commands = parser.add_subparsers(dest="command", metavar=pick("COMMAND", "命令"), required=True)
    add = _adder(commands)
    make = add("create", "make an environment and its kernel", "创建环境及其内核")
    make.add_argument("name", metavar="NAME", nargs="?", default="mine",
                      help=pick("'mine' if left out", "默认为 mine"))  # fmt: skip
    make.add_argument("packages", metavar="PACKAGE", nargs="*",
                      help=pick("as for pip: einops, 'torch>=2.7'", "同 pip：einops、'torch>=2.7'"))  # fmt: skip
    make.add_argument("--requirements", "-r", metavar="FILE", help=pick("a list of packages", "软件包列表文件"))
    make.add_argument("--root", metavar="scratch|home|PATH",
                      help=pick("where its files go; else the site's choice", "文件位置；默认由站点决定"))  # fmt: skip
    _source(make)
    _again(make, "an unfinished one of that name is removed first", "先删除同名的未完成环境")
    more = add("install", "add packages to an environment", "向环境添加软件包")
    more.add_argument("name", metavar="NAME")
    more.add_argument("packages", metavar="PACKAGE", nargs="+")
    _source(more)
    anew = add("rebuild", "make an environment of another image for this one, from its list", "按列表为本镜像重建环境")
    anew.add_argument("name", metavar="NAME")
    _again(anew, "also when it is there already", "即使已存在也重建")
    gone = add("remove", "remove an environment", "删除环境")
    gone.add_argument("name", metavar="NAME")
    gone.add_argument("--id", help=pick("for which image, as `env list` shows it", "属于哪个镜像（见 `env list`）"))
    add("list", "list your environments", "列出您的环境")
    add("show", "say everything about one environment", "显示环境详情").add_argument("name", metavar="NAME")
    return parser


def _adder(commands: argparse._SubParsersAction[argparse.ArgumentParser]):  # type: ignore[no-untyped-def]
    def add(name: str, en: str, zh: str) -> argparse.ArgumentParser:
        words = pick(en, zh)
        parser = commands.add_parser(name, help=words, description=words)
        parser.add_argument("--json", action="store_true", help=pick("for programs", "供程序使用"))
        return parser

    return add


def _source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from-source",
        action="store_true",
        help=pick("build packages that have no wheel", "编译没有 wheel 的软件包"),
    )


def _again(parser: argparse.ArgumentParser, en: str, zh: str) -> None:
    parser.add_argument("--again", action="store_true", help=pick(en, zh))
