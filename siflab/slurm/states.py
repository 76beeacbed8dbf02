"""All of Slurm's job states and flags, in one table, with what each means for a session or a run.

Source: squeue(1) "JOB STATE CODES" of 22.05 to 24.05, Slurm's page "Job State Codes" of 24.11 and 25.05, and slurm.h's
JOB_* values. A job has one base state and any number of flags; most commands print one word, some list them all
(``RUNNING,COMPLETING``). A word that is not in the table is `unknown`: nothing may be concluded from it.
"""

import re
from dataclasses import dataclass
from typing import Literal

from siflab.text import Text

Kind = Literal["pending", "running", "ending", "ended", "unknown"]


@dataclass(frozen=True)
class StateInfo:
    """`kind` says what follows: waits, holds nodes, is leaving them, is over, or nothing can be said."""

    name: str
    kind: Kind
    text: Text


def _row(name: str, kind: Kind, en: str, zh: str) -> tuple[str, StateInfo]:
    return name, StateInfo(name, kind, Text(en, zh))


BASE_STATES: dict[str, StateInfo] = dict(
    [
        _row("PENDING", "pending", "waiting in the queue", "正在排队"),
        _row("RUNNING", "running", "running", "正在运行"),
        _row("SUSPENDED", "running", "suspended", "已暂停"),
        _row("COMPLETED", "ended", "completed", "已完成"),
        _row("FAILED", "ended", "failed", "失败"),
        _row("CANCELLED", "ended", "cancelled", "已取消"),
        _row("TIMEOUT", "ended", "its time limit was reached", "达到时间上限"),
        _row("DEADLINE", "ended", "its deadline passed", "已过截止时间"),
        _row("OUT_OF_MEMORY", "ended", "used more memory than it asked for", "使用的内存超过申请量"),
        _row("NODE_FAIL", "ended", "its node failed", "节点故障"),
        _row("BOOT_FAIL", "ended", "its node did not boot", "节点启动失败"),
        _row("PREEMPTED", "ended", "preempted by a job of higher priority", "被更高优先级的作业抢占"),
    ]
)

FLAGS: dict[str, StateInfo] = dict(
    [
        _row("REQUEUED", "pending", "put back into the queue", "已重新排队"),
        _row("REQUEUE_FED", "pending", "put back into the queue of a federated cluster", "已在联邦集群中重新排队"),
        _row("REQUEUE_HOLD", "pending", "put back into the queue and held", "已重新排队并被挂起"),
        _row(
            "SPECIAL_EXIT",
            "pending",
            "put back into the queue, held by its special exit code",
            "因特殊退出码重新排队并被挂起",
        ),
        _row("RESV_DEL_HOLD", "pending", "held: its reservation was deleted", "被挂起：其预约已删除"),
        _row("EXPEDITING", "pending", "put back into the queue, to be started first", "已重新排队，将优先启动"),
        _row("CONFIGURING", "pending", "its nodes are being made ready", "节点正在准备"),
        _row("POWER_UP_NODE", "pending", "its nodes are being switched on", "节点正在开机"),
        _row("STOPPED", "running", "stopped by a signal, keeps its nodes", "被信号停住，仍占用节点"),
        _row("RESIZING", "running", "changing its size", "正在改变规模"),
        _row("SIGNALING", "running", "is being sent a signal", "正在接收信号"),
        _row("COMPLETING", "ending", "ending", "正在结束"),
        _row("STAGE_OUT", "ending", "copying its files back", "正在传回文件"),
        _row("REVOKED", "unknown", "taken over by another cluster of the federation", "已由联邦的另一集群接管"),
        _row("LAUNCH_FAILED", "unknown", "could not be launched on its node", "无法在节点上启动"),
        _row("RECONFIG_FAIL", "unknown", "its nodes could not be configured", "节点配置失败"),
        _row("UPDATE_DB", "unknown", "being written to the accounting database", "正在写入记账数据库"),
    ]
)
"""A flag is printed instead of the base state, or beside it. `unknown` ones say nothing by themselves: the job may have
ended, or wait to be started again."""

JOB_STATES: dict[str, StateInfo] = {**BASE_STATES, **FLAGS}

_BETWEEN = re.compile(r"[,|+]")
_WINS: dict[Kind, int] = {"ending": 0, "pending": 1, "running": 2}
"""Which flag tells more than the base state: a job that still leaves its nodes, whatever follows; one that will run
again; one that goes on."""


def state_info(word: str) -> StateInfo:
    """The row of a state as any command prints it: ``RUNNING``, ``CANCELLED by 0``, ``CANCELLED+``, ``completing``,
    ``FAILED,REQUEUED``. Of several words the flag that says most; unknown when one of them is not in the table."""
    first = word.split()[0] if word.split() else ""
    names = [name.upper() for name in _BETWEEN.split(first) if name]
    rows = [JOB_STATES.get(name) for name in names]
    known = [row for row in rows if row is not None]
    if not known or len(known) < len(rows):
        return StateInfo(
            first.upper() or "UNKNOWN", "unknown", Text(f"in an unknown state ({word})", f"状态未知（{word}）")
        )
    telling = [row for row in known if row.name in FLAGS and row.kind in _WINS]
    bases = [row for row in known if row.name in BASE_STATES]
    if telling:
        return min(telling, key=lambda row: _WINS[row.kind])
    return (bases or known)[0]
