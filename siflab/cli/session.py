"""`siflab session`."""

import argparse
from datetime import datetime
from typing import Any

from siflab.cli.terminal import pick, print_json, say
from siflab.errors import FieldError, Invalid
from siflab.runs import Viewer, extend_session, session_view
from siflab.slurm.time import format_time, parse_time
from siflab.text import Text


def session(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    if getattr(options, "session_command", None) == "extend":
        before = session_view(viewer)
        answer = extend_session(viewer, _seconds(options.time), before.get("ends_at"))
        if options.json:
            print_json(answer)
        else:
            say(pick(f"the session goes on: {_until(answer['ends_at'])}", f"会话已延长：{_until(answer['ends_at'])}"))
        return 0
    seen = session_view(viewer)
    if options.json:
        print_json(seen)
    else:
        say("\n".join(_lines(seen)))
    return 0


def _lines(seen: dict[str, Any]) -> list[str]:
    if not seen["in_slurm"]:
        return [
            pick(
                "this is not inside of a session; run it in a terminal of JupyterLab (File > New > Terminal) of the "
                "session that you mean",
                "此处不在会话中；请在相应会话的 JupyterLab 终端中运行（文件 > 新建 > 终端）",
            )
        ]
    lines = [
        pick(
            f"job {seen['job_id']} on {seen['node']}, profile {seen['profile']}",
            f"作业 {seen['job_id']}，节点 {seen['node']}，配置 {seen['profile']}",
        ),
        _until(seen["ends_at"]),
    ]
    extension = seen["extension"]
    if extension is None:
        return lines
    if extension["allowed"]:
        most = format_time(extension["longest_seconds"])
        lines.append(
            pick(f"more time: siflab session extend {most} (at most)", f"延长：siflab session extend {most}（最多）")
        )
    else:
        why = extension["why_not"]
        lines.append(pick(f"no more time: {why['en']}", f"不能延长：{why['zh']}"))
    return lines


def _until(ends_at: str | None) -> str:
    """``ends at 14:02, in 1:30:00``"""
    if ends_at is None:
        return pick("it has no time limit", "没有时间上限")
    end = datetime.fromisoformat(ends_at).astimezone()
    now = datetime.now().astimezone()
    left = format_time(max(0, int((end - now).total_seconds())))
    clock = end.strftime("%H:%M" if end.date() == now.date() else "%Y-%m-%d %H:%M")
    return pick(f"ends at {clock}, in {left}", f"{clock} 结束，还剩 {left}")


def _seconds(typed: str) -> int:
    try:
        seconds = parse_time(typed)
    except ValueError:
        seconds = 0
    if seconds <= 0:
        raise Invalid(
            [
                FieldError(
                    "",
                    "not-a-time",
                    Text(
                        f"{typed!r} is not a time; write 1:00:00, or 30 for half an hour",
                        f"{typed!r} 不是时间；请写 1:00:00，或 30（分钟）",
                    ),
                )
            ]
        )
    return seconds
