"""The arguments of `siflab`, with a help that teaches."""

import argparse
from typing import NoReturn

import siflab
from siflab.cli.again_arguments import add_export, add_repair, add_rerun
from siflab.cli.ending import EXIT_CODES
from siflab.cli.promote_arguments import add_promote
from siflab.cli.terminal import pick, warn
from siflab.text import terminal_language

_ARGPARSE_ZH = {
    "usage: ": "用法：",
    "positional arguments": "参数",
    "options": "选项",
    "show this help message and exit": "显示此帮助",
    "show program's version number and exit": "显示版本号",
    "the following arguments are required: %s": "缺少参数：%s",
    "unrecognized arguments: %s": "无法识别的参数：%s",
    "expected one argument": "需要一个值",
    "expected at least one argument": "至少需要一个值",
    "argument %(argument_name)s: %(message)s": "参数 %(argument_name)s：%(message)s",
    "invalid choice: %(value)r (choose from %(choices)s)": "无效的选择 %(value)r（可选：%(choices)s）",
    "invalid %(type)s value: %(value)r": "无效的值 %(value)r",
    "ambiguous option: %(option)s could match %(matches)s": "选项 %(option)s 有歧义：%(matches)s",
    "not allowed with argument %s": "不能与 %s 同时使用",
}


class _Parser(argparse.ArgumentParser):
    """Exits with 2 and a way on."""

    def error(self, message: str) -> NoReturn:
        warn(f"siflab: {message}")
        warn(pick(f"see `{self.prog} --help`", f"请看 `{self.prog} --help`"))
        raise SystemExit(2)


def build() -> argparse.ArgumentParser:
    if terminal_language() == "zh":
        argparse._ = lambda message: _ARGPARSE_ZH.get(message, message)  # type: ignore[attr-defined]
    parser = _Parser(
        prog="siflab",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description=pick(
            "Run Jupyter notebooks as Slurm batch jobs, inside Singularity images.",
            "把 Jupyter notebook 作为 Slurm 批处理作业在 Singularity 镜像中运行。",
        ),
        epilog=_epilog(),
    )
    parser.add_argument("--version", action="version", version=f"siflab {siflab.__version__}")
    commands = parser.add_subparsers(dest="command", metavar=pick("COMMAND", "命令"), required=True)
    add_promote(
        _command(
            commands, "promote", "submit a notebook or script as a batch job", "把 notebook 或脚本提交为批处理作业"
        )
    )
    add_promote(_command(commands, "preview", "what promote would submit, and what Slurm says", "预览将要提交的内容"))
    _runs(_command(commands, "runs", "list your runs", "列出您的运行"))
    _show(_command(commands, "show", "say everything about one run", "显示一个运行的详情"))
    _to_script(_command(commands, "to-script", "write a notebook as a Python script", "把 notebook 写成 Python 脚本"))
    _points(_command(commands, "points", "the table of a sweep", "显示参数扫描的结果表"))
    _logs(_command(commands, "logs", "print a run's log", "显示运行的日志"))
    _metrics(_command(commands, "metrics", "what a run used, with advice", "显示运行的资源使用和建议"))
    _cancel(_command(commands, "cancel", "cancel runs", "取消运行"))
    _again(commands)
    _profiles(_command(commands, "profiles", "list what there is to choose", "列出可选的资源配置"))
    _session(
        _command(commands, "session", "say when this session ends, or extend it", "显示本会话何时结束，或延长会话")
    )
    _env(commands)
    _site(_command(commands, "site", "for administrators: check site.yaml", "供管理员使用：检查 site.yaml"))
    return parser


def _command(commands: "argparse._SubParsersAction[_Parser]", name: str, en: str, zh: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=pick(en, zh),
        description=pick(f"{en[0].upper()}{en[1:]}.", f"{zh}。"),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _runs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", "-a", action="store_true", help=pick("also those long ended", "包括早已结束的运行"))
    parser.add_argument(
        "--watch",
        "-w",
        action="store_true",
        help=pick("show them again every 2 s, until Ctrl-C", "每 2 秒刷新，直到 Ctrl-C"),
    )
    _json(parser)


def _show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--provenance",
        action="store_true",
        help=pick("what it was made of, as JSON", "以 JSON 显示其来源和组成"),
    )
    _id(parser)
    _json(parser)


def _to_script(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("notebook", metavar="NOTEBOOK")
    parser.add_argument("-o", "--output", metavar="FILE", help=pick("the terminal if left out", "默认输出到终端"))
    parser.add_argument("--force", action="store_true", help=pick("replace a file that is there", "覆盖已有文件"))


def _points(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--sort",
        metavar="C",
        help=pick("by a parameter, a value, seconds, state ...", "按参数、记录值、seconds、state 等排序"),
    )
    add("--reverse", action="store_true", help=pick("the largest first", "从大到小"))
    add("--csv", action="store_true", help=pick("as CSV", "输出 CSV"))
    add(
        "--rerun-failed",
        action="store_true",
        help=pick("run the points again that failed or were cancelled", "重新运行失败或被取消的点"),
    )
    _id(parser)
    _json(parser)
    parser.epilog = pick("example:\n  siflab points ID --sort loss", "示例：\n  siflab points ID --sort loss")


def _logs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-f", "--follow", action="store_true", help=pick("go on until the run has ended", "持续显示直到运行结束")
    )
    parser.add_argument(
        "--attempt",
        metavar="K",
        type=int,
        help=pick("the attempt, from 1; the latest if left out", "第几次尝试（从 1 开始）；默认为最近一次"),
    )
    _id(parser)


def _metrics(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--csv", action="store_true", help=pick("every sample, as CSV", "以 CSV 输出全部样本"))
    add("--rank", metavar="N", type=int, help=pick("only this rank's series", "只含该进程的曲线"))
    add("--attempt", metavar="K", type=int, help=pick("the latest if left out", "默认为最近一次尝试"))
    add("--point", metavar="N", type=int, help=pick("of a sweep", "参数扫描中的点"))
    _id(parser)
    _json(parser)


def _cancel(parser: argparse.ArgumentParser) -> None:
    _id(parser, many=True)
    _json(parser)


def _again(commands: "argparse._SubParsersAction[_Parser]") -> None:
    rerun = _command(commands, "rerun", "run it again from its own snapshot", "用当时的快照重新运行")
    resume = _command(commands, "resume", "go on with a run that stopped or failed", "继续已停止或失败的运行")
    repair = _command(commands, "repair", "recover the outputs of killed attempts", "恢复被终止的尝试的输出")
    export = _command(commands, "export", "pack a run into one archive", "把运行打包为一个归档文件")
    add_rerun(rerun)
    _id(resume)
    add_repair(repair)
    add_export(export)
    for parser in (rerun, resume, repair, export):
        _json(parser)


def _profiles(parser: argparse.ArgumentParser) -> None:
    _json(parser)


def _session(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="session_command", metavar=pick("COMMAND", "命令"))
    extend = commands.add_parser(
        "extend",
        help=pick("more time, where the site allows it", "延长时间（若站点允许）"),
        description=pick("Let this session go on for longer.", "延长本会话的时间。"),
    )
    extend.add_argument(
        "time", metavar="T", help=pick("how much more: 1:00:00, or minutes", "延长多少：1:00:00，或分钟数")
    )
    _json(extend)
    _json(parser)


def _env(commands: "argparse._SubParsersAction[_Parser]") -> None:
    """Its own arguments are those of `siflab.environments`, `--help` too."""
    words = pick("your own packages on top of an image", "在镜像之上安装您自己的软件包")
    parser = commands.add_parser("env", help=words, add_help=False)
    parser.add_argument("--image", metavar="I")
    parser.add_argument("--help", "-h", action="store_true")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)


def _site(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(dest="site_command", metavar=pick("COMMAND", "命令"), required=True)
    check = commands.add_parser(
        "check",
        help=pick("read site.yaml and say what is wrong with it", "读取 site.yaml 并指出错误"),
        description=pick(
            "Read a site.yaml, and look on this machine whether its images and binds are there.",
            "读取 site.yaml，并检查其中的镜像和挂载目录在本机是否存在。",
        ),
    )
    check.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help=pick("$SIFLAB_SITE or /etc/siflab/site.yaml if left out", "默认为 $SIFLAB_SITE 或 /etc/siflab/site.yaml"),
    )


def _id(parser: argparse.ArgumentParser, many: bool = False) -> None:
    words = pick("a run's id, or its beginning; or its job's id", "运行的 ID（可只写开头），或作业号")
    if many:
        parser.add_argument("ids", metavar="ID", nargs="+", help=words)
    else:
        parser.add_argument("id", metavar="ID", help=words)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--json",
        action="store_true",
        help=pick("for programs: JSON as in the REST API", "供程序使用：与 REST API 相同的 JSON"),
    )


def _epilog() -> str:
    lines = [
        pick("example:", "示例："),
        "  siflab profiles",
        "  siflab promote train.ipynb --profile a100-1 --gpus 2 --time 1:00:00",
        "  siflab runs",
        "  siflab logs -f ID",
        "",
        pick("exit codes:", "退出码："),
        *(f"  {code:<4}{pick(*words)}" for code, words in EXIT_CODES.items()),
        "",
        pick(
            "The language is that of SIFLAB_LANG, LC_ALL or LANG (en, zh).",
            "语言由 SIFLAB_LANG、LC_ALL 或 LANG 决定（en、zh）。",
        ),
    ]
    return "\n".join(lines)
