"""What a job ended of, said to the person whose session it was: what happened, when, and what to do."""

import pwd
from dataclasses import dataclass
from datetime import datetime

from siflab.slurm.states import StateInfo
from siflab.text import Text
from siflab_spawner.exit_codes import meaning


@dataclass(frozen=True)
class Outcome:
    """A job's end. `cancelled_by` is the uid that cancelled it, `time_limit` in Slurm's notation, where known."""

    job_id: str
    state: StateInfo
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    ended_at: datetime | None = None
    node: str = ""
    time_limit: str = ""
    cancelled_by: int | None = None

    @property
    def hub_status(self) -> int:
        """What JupyterHub logs as the exit code of the server; never 0 for what did not end well."""
        return (
            self.exit_code or (128 + self.signal if self.signal else 0) or (0 if self.state.name == "COMPLETED" else 1)
        )


_ADVICE: dict[str, tuple[str, str]] = {
    "TIMEOUT": (
        "it reached its time limit{limit}. Start again, and ask for more time if you need it",
        "达到时间上限{limit}。请重新启动，需要时申请更长时间",
    ),
    "OUT_OF_MEMORY": (
        "it used more memory than it asked for and was killed. Start again with more memory",
        "使用的内存超过申请量，已被终止。请申请更多内存后重新启动",
    ),
    "NODE_FAIL": (
        "node {node} failed. Start again; another node will be used",
        "节点 {node} 故障。请重新启动，将使用其他节点",
    ),
    "BOOT_FAIL": ("its node {node} did not boot. Start again", "节点 {node} 启动失败。请重新启动"),
    "PREEMPTED": (
        "a job of higher priority took its place. Start again; it waits until there is room",
        "被更高优先级的作业抢占。请重新启动，有空闲资源时会运行",
    ),
    "DEADLINE": ("its deadline passed. Start again", "已过截止时间。请重新启动"),
    "CANCELLED": ("it was cancelled{by}", "已被取消{by}"),
    "COMPLETED": ("the server was shut down", "服务器已关闭"),
    "LAUNCH_FAILED": (
        "Slurm could not launch it on {node}. Start again; if it happens again tell your administrator",
        "Slurm 无法在 {node} 上启动它。请重新启动；若再次发生请联系管理员",
    ),
    "GONE": (
        "Slurm no longer knows the job and has no record of its end. Start again",
        "Slurm 已没有该作业，也没有其结束记录。请重新启动",
    ),
}  # fmt: skip


def in_words(outcome: Outcome) -> Text:
    """``Job 12 ended at 14:02: it reached its time limit of 2:00:00. Start again ...``"""
    node = outcome.node or "?"
    limit = Text(f" of {outcome.time_limit}", f"（{outcome.time_limit}）") if outcome.time_limit else Text("", "")
    by = _who(outcome.cancelled_by)
    at = outcome.ended_at.astimezone().strftime("%H:%M") if outcome.ended_at else ""
    when = Text(f" at {at}", f"于 {at}") if at else Text("", "")
    if outcome.state.name in _ADVICE:
        en, zh = _ADVICE[outcome.state.name]
        why = Text(en.format(limit=limit.en, node=node, by=by.en), zh.format(limit=limit.zh, node=node, by=by.zh))
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
    if outcome.reason and outcome.reason not in ("NonZeroExitCode", "RaisedSignal"):
        return Text(f"Slurm says {outcome.reason}. See its log", f"Slurm 的说明：{outcome.reason}。请查看日志")
    return Text(
        f"it stopped with exit code {outcome.exit_code}. See its log",
        f"以退出码 {outcome.exit_code} 停止。请查看日志",
    )


def _who(uid: int | None) -> Text:
    if uid is None:
        return Text("", "")
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid {uid}"
    return Text(f" by {name}", f"（操作者：{name}）")
