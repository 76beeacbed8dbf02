"""The arguments of `siflab promote`."""

import argparse
from collections.abc import Sequence

from siflab.cli.terminal import pick


def add_promote(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "notebook",
        metavar="FILE",
        help=pick(
            "the notebook (.ipynb) or script (.py); it is never changed", "notebook（.ipynb）或脚本（.py）；不会被修改"
        ),
    )
    parser.set_defaults(arguments=[])
    parser.usage = f"{parser.prog} FILE [OPTION ...] [-- ARGUMENT ...]"
    _resources(parser)
    _modes(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--dry-run",
        action="store_true",
        help=pick("show the script and what Slurm says, submit nothing", "只显示脚本和 Slurm 的答复，不提交"),
    )
    how.add_argument(
        "--script-only",
        action="store_true",
        help=pick("make the run folder with its job.sh, submit nothing", "只生成运行目录和 job.sh，不提交"),
    )
    how.add_argument("--wait", action="store_true", help=pick("return when the run has ended", "等待运行结束"))
    how.add_argument(
        "--follow", action="store_true", help=pick("print the log until the run has ended", "持续显示日志直到运行结束")
    )
    parser.add_argument("--json", action="store_true", help=pick("as JSON", "输出 JSON"))
    parser.epilog = (
        pick("examples:", "示例：")
        + """
  siflab promote train.ipynb --profile a100-1 --gpus 2 --time 1:00:00
  siflab promote train.ipynb -p epochs=20 -p learning_rate=1e-4 --attempts 3
  siflab promote ddp.ipynb --mode distributed --profile a100-nodes --nodes 2
  siflab promote train.ipynb --sweep learning_rate=0.1,0.01 --sweep epochs=5,10 --at-once 2
  siflab promote train.ipynb --points points.csv
  siflab promote train.py -- --epochs 10"""
    )


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """``promote train.py --gpus 2 -- --epochs 10``: what is `siflab`'s, and what is the script's. A ``--`` before the
    file only says that no option follows."""
    if words[:1] in (["promote"], ["preview"]) and "--" in words:
        at = words.index("--")
        if any(word.endswith((".py", ".ipynb")) and not word.startswith("-") for word in words[1:at]):
            return list(words[:at]), list(words[at + 1 :])
    return list(words), []


def _resources(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--profile",
        metavar="P",
        help=pick(
            "see `siflab profiles`; the site's default if left out", "见 `siflab profiles`；默认为站点的默认配置"
        ),
    )
    add("--gpus", metavar="N", help=pick("GPUs per node", "每节点 GPU 数"))
    add("--nodes", metavar="N", help=pick("nodes", "节点数"))
    add("--cpus", metavar="N", help=pick("CPUs per node", "每节点 CPU 数"))
    add("--memory", metavar="M", help=pick("memory per node, e.g. 16G", "每节点内存，例如 16G"))
    add("--time", metavar="T", help=pick("time limit: 2:00:00 or 1-00:00:00", "时间上限：2:00:00 或 1-00:00:00"))
    add("--image", metavar="I", help=pick("another image that the profile allows", "该配置允许的其他镜像"))
    add(
        "--kernel",
        metavar="K",
        help=pick("a kernel of the image; the notebook's own if left out", "镜像中的内核；默认为 notebook 自己的内核"),
    )
    add("--name", help=pick("a name for the run; the file's if left out", "运行的名称；默认为文件名"))


def _modes(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--mode",
        choices=("notebook", "distributed", "sweep"),
        help=pick(
            "one process (the default); torch.distributed.run on every node; or one job for each point of --sweep",
            "单进程（默认）；在每个节点上运行 torch.distributed.run；或为 --sweep 的每个点运行一个作业",
        ),
    )
    add(
        "--processes",
        metavar="N",
        help=pick("distributed: on each node; as GPUs", "distributed：每节点进程数；默认同 GPU 数"),
    )
    add(
        "-p",
        "--parameter",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help=pick(
            "a value for a parameter of the notebook (cell tagged `parameters`)",
            "notebook 参数的值（标签为 parameters 的单元格）",
        ),
    )
    add(
        "--sweep",
        metavar="NAME=V1,V2",
        action="append",
        default=[],
        help=pick("a run for each of these values; several make a grid", "为每个值运行一次；给出多个则组成网格"),
    )
    add(
        "--points",
        metavar="FILE",
        help=pick("a CSV or JSON file, a run for each line of it", "CSV 或 JSON 文件，为每一行运行一次"),
    )
    add("--at-once", metavar="N", help=pick("at most so many of them at the same time", "最多同时运行几个"))
    add(
        "--attempts",
        metavar="N",
        help=pick(
            "go on in another attempt after the time limit, up to so many in all", "到达时间上限后继续，最多共几次尝试"
        ),
    )
    add(
        "--signal",
        choices=("USR2", "USR1"),
        help=pick("the warning before the time limit (USR2)", "时间上限之前的警告信号（USR2）"),
    )
