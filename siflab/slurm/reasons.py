"""Slurm's pending reasons in plain words. Source: squeue(1) "JOB REASON CODES", slurm's job_reason_string table.

`%r` of squeue prints either one of these codes or a sentence (``ReqNodeNotAvail, UnavailableNodes:gpu02``).
"""

import re

from siflab.text import Text

_REASONS: dict[str, tuple[str, str]] = {
    "None": ("Slurm has not looked at it yet", "Slurm 尚未调度到它"),
    "Resources": ("no node that fits is free yet; it is next in line", "暂时没有满足要求的空闲节点；它排在最前面"),
    "Priority": ("other jobs with a higher priority go first", "其他优先级更高的作业排在前面"),
    "Dependency": ("it waits for another job to end", "等待其他作业结束"),
    "DependencyNeverSatisfied": (
        "the job that it waits for failed, so it will never start; cancel it",
        "它所依赖的作业已失败，不会再启动；请取消",
    ),
    "BeginTime": (
        "its earliest start time has not come (also a short while after a requeue)",
        "尚未到最早开始时间（重新排队后也会短暂出现）",
    ),
    "JobHeldUser": ("it is held; release it with `scontrol release`", "已被挂起；可用 `scontrol release` 释放"),
    "JobHeldAdmin": ("it is held by an administrator; ask them", "被管理员挂起；请联系管理员"),
    "JobHoldMaxRequeue": ("it was requeued too often and is held", "重新排队次数过多，已被挂起"),
    "JobArrayTaskLimit": ("as many elements of its array run as it allows at once", "数组作业同时运行数已达其上限"),
    "PartitionDown": ("its partition is down; choose another one or wait", "分区已停用；请换分区或等待"),
    "PartitionInactive": ("its partition starts no jobs at present", "分区当前不启动作业"),
    "PartitionNodeLimit": ("it asks for more nodes than its partition allows", "申请的节点数超过分区上限"),
    "PartitionTimeLimit": (
        "it asks for more time than its partition allows, so it will not start; ask for less",
        "申请的时间超过分区上限，不会启动；请减少时间",
    ),
    "ReqNodeNotAvail": ("a node that it needs is down, drained or reserved", "所需节点停机、维护或已被预约"),
    "Reservation": ("it waits for its reservation to begin", "等待预约开始"),
    "Licenses": ("it waits for a licence", "等待许可证"),
    "NodeDown": ("a node that it needs is down", "所需节点停机"),
    "BadConstraints": ("no node can ever satisfy what it asks for; ask for less", "没有节点能满足申请；请减少申请"),
    "SystemFailure": (
        "Slurm itself, a file system or the network failed; ask an administrator",
        "Slurm、文件系统或网络故障；请联系管理员",
    ),
    "InvalidAccount": ("its account is not valid", "账户无效"),
    "InvalidQOS": ("its QOS is not valid", "QOS 无效"),
    "AccountNotAllowed": ("its account may not use this partition", "该账户不能使用此分区"),
    "FrontEndDown": ("no front-end node is up", "没有可用的前端节点"),
    "Cleaning": ("its earlier attempt is being cleaned up", "正在清理上一次运行"),
    "Prolog": ("the prologue of its nodes is running", "节点的 prolog 正在运行"),
    "NonZeroExitCode": ("it ended with a non-zero exit code", "以非零退出码结束"),
    "TimeLimit": ("it reached its time limit", "达到时间上限"),
    "WaitingForScheduling": ("Slurm has not looked at it yet", "Slurm 尚未调度到它"),
    "InactiveLimit": ("it reached the limit for being inactive", "达到不活动时间上限"),
    "RaisedSignal": ("it was ended by a signal", "被信号终止"),
    "BurstBufferResources": ("it waits for burst buffer space", "等待 burst buffer 空间"),
    "BurstBufferStageIn": ("its files are being staged in", "正在载入文件"),
    "MaxJobsPerAccount": ("your account runs as many jobs as it may", "账户的作业数已达上限"),
    "AccountingPolicy": ("a limit of your account or QOS is reached", "账户或 QOS 的上限已达到"),
    "BurstBufferOperation": (
        "its burst buffer could not be set up; ask an administrator",
        "burst buffer 操作失败；请联系管理员",
    ),
    "Constraints": ("no node has all that it asks for at present", "目前没有节点满足其全部要求"),
    "DeadLine": ("its deadline passed", "已过截止时间"),
    "FedJobLock": ("the clusters of the federation agree on where it starts", "联邦中的集群正在商定启动位置"),
    "JobHoldUser": ("it is held; release it with `scontrol release`", "已被挂起；可用 `scontrol release` 释放"),
    "JobLaunchFailure": (
        "Slurm could not launch it on its node; tell your administrator if it happens again",
        "Slurm 无法在节点上启动它；若再次发生请联系管理员",
    ),
    "MaxMemPerLimit": (
        "it asks for more memory than its partition allows, so it will not start; ask for less",
        "申请的内存超过分区上限，不会启动；请减少内存",
    ),
    "MaxPowerCap": ("the cluster is at the limit of its power", "集群已达到功率上限"),
    "OutOfMemory": ("it used more memory than it asked for", "使用的内存超过申请量"),
    "PartitionConfig": (
        "its partition does not allow what it asks for, so it will not start; ask an administrator",
        "分区的设置不允许此申请，不会启动；请联系管理员",
    ),
    "QOSNotAllowed": ("its QOS may not be used here", "不能在此使用该 QOS"),
    "QOSUsageThreshold": ("the usage threshold of its QOS is reached", "QOS 的用量阈值已达到"),
    "ReservationDeleted": ("its reservation was deleted; choose another one", "其预约已被删除；请选择其他预约"),
    "ReservationInvalid": ("its reservation is not valid; choose another one", "其预约无效；请选择其他预约"),
    "SchedDefer": ("it asked to start at once, and could not", "要求立即启动，但无法做到"),
    "launch failed requeued held": (
        "Slurm could not launch it, and holds it; tell your administrator",
        "Slurm 无法启动它并已将其挂起；请联系管理员",
    ),
}
_TELLS_NOTHING = {"", "None", "NonZeroExitCode", "RaisedSignal", "TimeLimit", "OutOfMemory", "DeadLine"}

_LIMITED_BY = {
    "QOS": ("of its QOS", "QOS 的"),
    "Assoc": ("of your account", "账户的"),
    "Max": ("of your account", "账户的"),
}
_LIMITED = (
    (re.compile(r"Minutes|Mins", re.IGNORECASE), "computing time", "机时"),
    (re.compile(r"GRES|GPU", re.IGNORECASE), "GPUs", "GPU"),
    (re.compile(r"Mem", re.IGNORECASE), "memory", "内存"),
    (re.compile(r"Cpu", re.IGNORECASE), "CPUs", "CPU"),
    (re.compile(r"Node"), "nodes", "节点"),
    (re.compile(r"Submit"), "submitted jobs", "已提交作业数"),
    (re.compile(r"Job"), "running jobs", "运行作业数"),
    (re.compile(r"Wall|Time"), "run time", "运行时间"),
)
_EACH = re.compile(r"Per(Job|Node)|MaxWall")
_PER = {"Job": ("", ""), "Node": (" per node", "每节点")}
_MINIMUM = re.compile(r"(?:QOS|Assoc)Min[A-Z]")
_USED_UP = re.compile(r"Grp\w*?(?<!Run)(?:Minutes|Mins)")
_NEVER = frozenset({
    "PartitionTimeLimit", "MaxMemPerLimit", "PartitionConfig", "DependencyNeverSatisfied", "BadConstraints",
    "InvalidAccount", "InvalidQOS", "AccountNotAllowed", "QOSNotAllowed", "ReservationInvalid", "ReservationDeleted",
})  # fmt: skip


def never_starts(reason: str) -> bool:
    """Whether a job that waits for this will not start as it is, whatever ends before it."""
    code = _code(reason)
    named = code.startswith(tuple(_LIMITED_BY))
    return code in _NEVER or (named and bool(_EACH.search(code) or _MINIMUM.match(code)))


def _limit(code: str) -> Text | None:
    """The families ``QOSMax...``, ``QOSGrp...``, ``AssocMax...``, ``AssocGrp...`` name their limit in their code."""
    for prefix, (whose_en, whose_zh) in _LIMITED_BY.items():
        if not code.startswith(prefix):
            continue
        found = next(((en, zh) for pattern, en, zh in _LIMITED if pattern.search(code.replace("PerJob", ""))), None)
        if _MINIMUM.match(code):
            en, zh = found or ("resources", "资源")
            return Text(
                f"it asks for less than the minimum {whose_en} for {en}, so it will not start; ask for more",
                f"申请的{zh}低于{whose_zh}下限，不会启动；请增加申请",
            )
        if each := _EACH.search(code):
            en, zh = found or ("resources", "资源")
            per_en, per_zh = _PER[each[1] or "Job"]
            return Text(
                f"it asks for more {en}{per_en} than the limit {whose_en} allows, so it will not start; ask for less",
                f"申请的{per_zh}{zh}超过{whose_zh}上限，不会启动；请减少申请",
            )
        if _USED_UP.search(code):
            return Text(
                f"the computing time {whose_en} is used up; ask an administrator when there is more",
                f"{whose_zh}机时已用完；请向管理员询问何时恢复",
            )
        if found is None:
            return Text(f"a limit {whose_en} is reached", f"{whose_zh}上限已达到")
        en, zh = found
        return Text(
            f"the limit {whose_en} on {en} is reached; it starts when others of these jobs end",
            f"{whose_zh}{zh}已达上限；相关作业结束后才会启动",
        )
    return None


def _code(reason: str) -> str:
    return reason.strip().partition(",")[0].strip("() ")


def pending_reason(reason: str) -> Text:
    """What squeue's `%r` says, in plain words; a reason that is not known is passed on as Slurm says it."""
    code, rest = _code(reason), reason.strip().partition(",")[2].strip()
    if code.startswith("Nodes required for job are DOWN"):
        return Text(
            "the nodes that fit are down, drained or reserved for others",
            "满足要求的节点停机、维护或已为他人保留",
        )
    if code in _REASONS:
        text = Text(*_REASONS[code])
    else:
        text = _limit(code) or Text(f"Slurm says: {reason}", f"Slurm 的说明：{reason}")
    if rest and code in _REASONS:
        return Text(f"{text.en} ({rest})", f"{text.zh}（{rest}）")
    return text


def end_reason(reason: str) -> Text | None:
    """What the reason of a job that ended says beyond its state; None where it says no more, or is not known."""
    code = _code(reason)
    if code in _TELLS_NOTHING:
        return None
    return Text(*_REASONS[code]) if code in _REASONS else _limit_reached(code)


def _limit_reached(code: str) -> Text | None:
    whose = next((words for prefix, words in _LIMITED_BY.items() if code.startswith(prefix)), None)
    return Text(f"a limit {whose[0]} was reached: {code}", f"{whose[1]}上限已达到：{code}") if whose else None
