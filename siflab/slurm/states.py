"""All of Slurm's job states, in one table, with what each means for a session or a run.

Source: squeue(1) "JOB STATE CODES" of 22.05 to 25.05 and slurm.h's JOB_* flags. A state that is not in the table is
`unknown`: nothing may be concluded from it.
"""

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


JOB_STATES: dict[str, StateInfo] = dict(
    [
        _row("PENDING", "pending", "waiting in the queue", "正在排队"),
        _row("CONFIGURING", "pending", "its nodes are being made ready", "节点正在准备"),
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
        _row("RUNNING", "running", "running", "正在运行"),
        _row("SUSPENDED", "running", "suspended", "已暂停"),
        _row("STOPPED", "running", "stopped by a signal, keeps its nodes", "被信号停住，仍占用节点"),
        _row("RESIZING", "running", "changing its size", "正在改变规模"),
        _row("SIGNALING", "running", "is being sent a signal", "正在接收信号"),
        _row("COMPLETING", "ending", "ending", "正在结束"),
        _row("STAGE_OUT", "ending", "copying its files back", "正在传回文件"),
        _row("REVOKED", "ended", "started on another cluster of the federation", "已在联邦的另一集群启动"),
        _row("COMPLETED", "ended", "completed", "已完成"),
        _row("FAILED", "ended", "failed", "失败"),
        _row("CANCELLED", "ended", "cancelled", "已取消"),
        _row("TIMEOUT", "ended", "its time limit was reached", "达到时间上限"),
        _row("DEADLINE", "ended", "its deadline passed", "已过截止时间"),
        _row("OUT_OF_MEMORY", "ended", "used more memory than it asked for", "使用的内存超过申请量"),
        _row("NODE_FAIL", "ended", "its node failed", "节点故障"),
        _row("BOOT_FAIL", "ended", "its node did not boot", "节点启动失败"),
        _row("LAUNCH_FAILED", "ended", "could not be launched on its node", "无法在节点上启动"),
        _row("PREEMPTED", "ended", "preempted by a job of higher priority", "被更高优先级的作业抢占"),
        _row("RECONFIG_FAIL", "ended", "its nodes could not be configured", "节点配置失败"),
    ]
)


def state_info(word: str) -> StateInfo:
    """The row of a state as any command prints it: ``RUNNING``, ``CANCELLED by 0``, ``CANCELLED+``, ``completing``."""
    words = word.split()
    name = words[0].rstrip("+").upper() if words else ""
    return JOB_STATES.get(
        name, StateInfo(name or "UNKNOWN", "unknown", Text(f"in an unknown state ({word})", f"状态未知（{word}）"))
    )
