"""What a job ended of, said to the person whose session it was: what happened, when, and what to do."""

from dataclasses import dataclass
from datetime import datetime

from siflab.slurm.reasons import end_reason
from siflab.slurm.states import StateInfo
from siflab.slurm.time import format_time
from siflab.text import Text
from siflab_spawner.watch.exit_codes import meaning

_NEAR = 0.97  # of what was asked for: a cgroup kills at the limit, and the use is measured now and then


@dataclass(frozen=True)
class Outcome:
    """A job's end. `cancelled_by` is the uid that cancelled it, `uid` the owner's; `time_limit` in seconds; memory that
    was asked for on a node and the most that was measured, in MiB. None: not known."""

    job_id: str
    state: StateInfo
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    ended_at: datetime | None = None
    node: str = ""
    time_limit: int | None = None
    cancelled_by: int | None = None
    cancelled_by_name: str = ""
    uid: int | None = None
    memory_mib: int | None = None
    used_mib: int | None = None

    @property
    def hub_status(self) -> int:
        """What JupyterHub logs as the exit code of the server; never 0 for what did not end well."""
        return (
            self.exit_code or (128 + self.signal if self.signal else 0) or (0 if self.state.name == "COMPLETED" else 1)
        )


_ADVICE: dict[str, tuple[str, str]] = {
    "TIMEOUT": (
        "its time limit{limit} was reached{reason}. Start again, and ask for more time if you need it",
        "达到时间上限{limit}{reason}。请重新启动，需要时申请更长时间",
    ),
    "OUT_OF_MEMORY": (
        "it was killed because it {memory}. Start again with more memory",
        "{memory}，已被终止。请申请更多内存后重新启动",
    ),
    "NODE_FAIL": (
        "node {node} failed. Start again; another node will be used",
        "节点 {node} 故障。请重新启动，将使用其他节点",
    ),
    "BOOT_FAIL": (
        "node {node} did not boot. Start again; if it happens again tell your administrator",
        "节点 {node} 启动失败。请重新启动；若再次发生请联系管理员",
    ),
    "PREEMPTED": (
        "a job of higher priority took its place. Start again; it waits until there is room",
        "被更高优先级的作业抢占。请重新启动，有空闲资源时会运行",
    ),
    "DEADLINE": (
        "its deadline passed before it could end. Start again",
        "在截止时间前未能结束。请重新启动",
    ),
    "CANCELLED": ("it was cancelled{by}{reason}. {again}", "已被取消{by}{reason}。{again}"),
    "COMPLETED": ("the server was shut down", "服务器已关闭"),
    "GONE": (
        "Slurm no longer knows the job and has no record of its end. Start again",
        "Slurm 已没有该作业，也没有其结束记录。请重新启动",
    ),
    "NOT_OURS": (
        "Slurm lost the job and has given its number to another one. Start again, and tell your administrator",
        "Slurm 丢失了该作业，其编号已属于另一个作业。请重新启动，并告知管理员",
    ),
}  # fmt: skip


def in_words(outcome: Outcome) -> Text:
    """``Job 12 ended at 14:02: its time limit of 2:00:00 was reached. Start again ...``"""
    at = outcome.ended_at.astimezone().strftime("%H:%M") if outcome.ended_at else ""
    when = Text(f" at {at}", f"于 {at}") if at else Text("", "")
    if outcome.state.name in _ADVICE:
        limit = format_time(outcome.time_limit) if outcome.time_limit else ""
        parts = {
            "limit": Text(f" of {limit}", f"（{limit}）") if limit else Text("", ""),
            "memory": _memory(outcome),
            "node": Text.plain(outcome.node or "?"),
            "by": _who(outcome),
            "reason": _reason(outcome),
            "again": _again(outcome),
        }
        en, zh = _ADVICE[outcome.state.name]
        why = Text(
            en.format(**{name: part.en for name, part in parts.items()}),
            zh.format(**{name: part.zh for name, part in parts.items()}),
        )
    else:
        why = _failed(outcome)
    return Text(f"Job {outcome.job_id} ended{when.en}: {why.en}.", f"作业 {outcome.job_id} {when.zh} 结束：{why.zh}。")


def _failed(outcome: Outcome) -> Text:
    if outcome.signal:
        return Text(
            f"it was killed by signal {outcome.signal}. If it used much memory ask for more, else see its log",
            f"被信号 {outcome.signal} 终止。若内存用量较大请申请更多，否则请查看日志",
        )
    known = meaning(outcome.exit_code)
    if known is not None:
        return known
    told = end_reason(outcome.reason)
    if told is not None:
        return Text(f"{told.en}. See its log", f"{told.zh}。请查看日志")
    if outcome.reason and outcome.reason not in ("NonZeroExitCode", "RaisedSignal"):
        return Text(f"Slurm says {outcome.reason}. See its log", f"Slurm 的说明：{outcome.reason}。请查看日志")
    return Text(
        f"it stopped with exit code {outcome.exit_code}. See its log",
        f"以退出码 {outcome.exit_code} 停止。请查看日志",
    )


def _who(outcome: Outcome) -> Text:
    uid = outcome.cancelled_by
    if uid is None:
        return Text("", "")
    if uid == outcome.uid:
        return Text(" by you", "（由您本人）")
    name = outcome.cancelled_by_name or f"uid {uid}"
    return Text(f" by {name}", f"（操作者：{name}）")


def _again(outcome: Outcome) -> Text:
    if outcome.cancelled_by is None or outcome.cancelled_by == outcome.uid:
        return Text("Start again when you need it", "需要时请重新启动")
    return Text("Ask your administrator why, then start again", "请向管理员了解原因后再重新启动")


def _reason(outcome: Outcome) -> Text:
    """Why Slurm ended it, where that is more than the state says."""
    known = end_reason(outcome.reason)
    return Text(f" ({known.en})", f"（{known.zh}）") if known else Text("", "")


def _memory(outcome: Outcome) -> Text:
    asked, used = outcome.memory_mib, outcome.used_mib
    if not asked:
        return Text("used more memory than it asked for", "使用的内存超过申请量")
    if used and used >= asked * _NEAR and _amount(used) != _amount(asked):
        return Text(
            f"used {_amount(used)} of {_amount(asked)} of memory",
            f"使用了 {_amount(used)} 内存（申请 {_amount(asked)}）",
        )
    return Text(f"reached its {_amount(asked)} of memory", f"内存用量达到申请的 {_amount(asked)}")


def _amount(mib: int) -> str:
    return f"{mib} MiB" if mib < 1024 else f"{mib / 1024:.1f}".removesuffix(".0") + " GiB"
