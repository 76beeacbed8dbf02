"""The arguments of what is done with a run that is over: rerun, resume, repair, export."""

import argparse

from siflab.cli.terminal import pick


def add_rerun(parser: argparse.ArgumentParser) -> None:
    _run(parser)
    add = parser.add_argument
    add(
        "--with",
        dest="changes",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help=pick(
            "what is to be different: memory=48G, time=4:00:00, attempts=3, gpus=2, image=I, profile=P ...",
            "要更改的内容：memory=48G、time=4:00:00、attempts=3、gpus=2、image=I、profile=P 等",
        ),
    )
    add(
        "-p",
        "--parameter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=pick("another value for a parameter of the notebook", "为 notebook 的参数指定另一个值"),
    )
    add(
        "--dry-run",
        action="store_true",
        help=pick("say what differs, submit nothing", "只说明不同之处，不提交"),
    )
    parser.epilog = pick("examples:", "示例：") + (
        "\n  siflab rerun ID\n  siflab rerun ID --with memory=48G --with attempts=3\n  siflab rerun ./unpacked-run"
    )


def add_repair(parser: argparse.ArgumentParser) -> None:
    _run(parser)
    parser.add_argument(
        "--force",
        action="store_true",
        help=pick(
            "also when Slurm cannot say that the job has ended; only when you know that it has",
            "即使 Slurm 无法确认作业已结束；仅在您确知已结束时使用",
        ),
    )


def add_export(parser: argparse.ArgumentParser) -> None:
    _run(parser)
    add = parser.add_argument
    add(
        "-o",
        "--output",
        metavar="FILE",
        help=pick(
            "the archive: .tar.gz, .tgz or .zip; NAME.tar.gz here if left out",
            "归档文件：.tar.gz、.tgz 或 .zip；默认为当前目录的 NAME.tar.gz",
        ),
    )
    add("--with-checkpoints", action="store_true", help=pick("its checkpoints too", "包含检查点"))
    add(
        "--with-outputs",
        action="store_true",
        help=pick("what it wrote to $OUTPUT_DIR and $LOG_DIR too", "包含写入 $OUTPUT_DIR 和 $LOG_DIR 的内容"),
    )


def _run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "run",
        metavar="ID|FOLDER",
        help=pick("a run's id, or its beginning; or a run folder", "运行的 ID（可只写开头），或运行目录"),
    )
