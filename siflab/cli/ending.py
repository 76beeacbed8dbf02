"""How a command ends: its exit code, and what it says when it could not do what it was asked."""

import os
import signal
import sys
import traceback

from siflab.cli.terminal import in_words, pick, warn
from siflab.config import SiteError
from siflab.errors import FieldError, Invalid, NotFound, SiflabError, SlurmRefused, SlurmUnreachable
from siflab.text import Text

EXIT_CODES: dict[int, tuple[str, str]] = {
    0: ("done; with --wait or --follow: the run completed", "成功；使用 --wait 或 --follow 时表示运行已完成"),
    1: ("the run that was waited for did not complete", "所等待的运行没有成功完成"),
    2: ("a wrong argument, or a request that cannot be carried out", "参数错误，或请求无法执行"),
    3: ("there is no such run", "没有这个运行"),
    4: ("Slurm refused", "被 Slurm 拒绝"),
    5: ("Slurm cannot be reached; nothing is lost, try again", "无法连接 Slurm；没有丢失任何内容，请重试"),
    70: ("something on this machine failed (a disk, a permission, site.yaml)", "本机出错（磁盘、权限或 site.yaml）"),
    130: ("interrupted by Ctrl-C; the run goes on", "被 Ctrl-C 中断；运行继续进行"),
}
_GOES_ON = Text("runs go on", "运行继续进行")
_OPTIONS = {
    "path": "FILE",
    "arguments": "-- ARGUMENT",
    "": "",
    "seconds": "",
    "partition": "--profile",
    "account": "--profile",
    "qos": "--profile",
    "reservation": "--profile",
    "binds": "site.yaml",
}


def option_of(field: str) -> str:
    """The argument of `siflab promote` that a field comes from: ``sweep.grid.rate`` is ``--sweep rate``."""
    first, *rest = field.split(".")
    if first == "parameters" and rest:
        return f"-p {rest[-1]}"
    if first == "sweep" and rest:
        return {"grid": "--sweep {}", "points": "--points {}", "csv": "--points {}"}.get(rest[0], "--sweep").format(
            rest[-1] if rest[0] == "grid" else " ".join(rest[1:])
        ).strip()  # fmt: skip
    return _OPTIONS.get(field, f"--{field.replace('_', '-')}")


def explain(error: SiflabError | SiteError) -> int:
    """Say what is wrong, one line for each argument; the exit code."""
    if isinstance(error, SiteError):
        warn(f"siflab: {in_words(error.message)}")
        return 70
    if isinstance(error, Invalid):
        for each in error.errors:
            warn(f"siflab: {_line(each)}")
        return 2
    warn(f"siflab: {in_words(error.message)}")
    codes: list[tuple[type[SiflabError], int]] = [(NotFound, 3), (SlurmRefused, 4), (SlurmUnreachable, 5)]
    return next((code for kind, code in codes if isinstance(error, kind)), 2 if error.status == 409 else 70)


def _line(error: FieldError) -> str:
    option = option_of(error.field)
    return f"{option}: {in_words(error.message)}" if option else in_words(error.message)


def unexpected(error: Exception) -> int:
    """A fault of ours: one line, and the traceback for who sets SIFLAB_DEBUG."""
    if os.environ.get("SIFLAB_DEBUG"):
        traceback.print_exception(error)
    kind = type(error).__name__
    warn(
        pick(
            f"siflab: failed unexpectedly ({kind}: {error}); with SIFLAB_DEBUG=1 it says more; please report it",
            f"siflab：意外错误（{kind}：{error}）；设置 SIFLAB_DEBUG=1 可查看详情；请上报",
        )
    )
    return 70


def interrupted(what_now: Text = _GOES_ON) -> int:
    """Ctrl-C: say what it means for what the person was about."""
    if sys.stderr.isatty():
        sys.stderr.write("\n")  # a line of its own, below the status line and the ^C
    warn(pick(f"siflab: interrupted; {what_now.en}", f"siflab：已中断；{what_now.zh}"))
    return 130


def broken_pipe() -> int:
    """The reader of our output (`| head`) went away."""
    sys.stderr.close()
    return 128 + signal.SIGPIPE
