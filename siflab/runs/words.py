"""The states of a run in words, and why a run ended as it did, with what to do."""

from siflab.text import Text

STATES: dict[str, Text] = {
    "not_submitted": Text("not submitted", "未提交"),
    "submitting": Text("being submitted", "正在提交"),
    "pending": Text("waiting in the queue", "排队中"),
    "running": Text("running", "运行中"),
    "completing": Text("ending", "正在结束"),
    "completed": Text("completed", "已完成"),
    "failed": Text("failed", "失败"),
    "cancelled": Text("cancelled", "已取消"),
    "timeout": Text("time limit reached", "超时"),
    "out_of_memory": Text("out of memory", "内存不足"),
    "node_fail": Text("node failed", "节点故障"),
    "unknown": Text("unknown", "状态未知"),
}
ENDED = frozenset({"completed", "failed", "cancelled", "timeout", "out_of_memory", "node_fail"})

TIMEOUT = Text(
    "The time limit was reached. What was printed until then is kept. Ask for more time, or save checkpoints.",
    "已达到时间上限。此前的输出均已保留。请申请更长时间，或保存检查点。",
)
OUT_OF_MEMORY = Text(
    "It used more memory than it asked for, so Slurm ended it. Ask for more memory, or use less at a time.",
    "使用的内存超过申请量，被 Slurm 终止。请申请更多内存，或减少一次使用的内存。",
)
NODE_FAIL = Text(
    "Its node failed. It is not the notebook's fault: submit it again.",
    "节点发生故障，与 notebook 无关：请重新提交。",
)
PREEMPTED = Text(
    "It gave way to a job of higher priority. Submit it again, or choose a partition that is not preempted.",
    "被更高优先级的作业抢占。请重新提交，或选择不会被抢占的分区。",
)
NEVER_STARTED = Text("It was cancelled before it started.", "在开始之前已被取消。")
CANCELLED = Text("It was cancelled. What was printed until then is kept.", "已被取消。此前的输出均已保留。")
NO_RESULT = Text(
    "Slurm says that the job completed, but the notebook left no result: it was ended in a way that nobody noticed. "
    "See the log.",
    "Slurm 显示作业已完成，但没有 notebook 的运行结果：它以未被察觉的方式结束。请查看日志。",
)
RESULT_AWAITED = Text("The job has ended; its result is not visible here yet.", "作业已结束；此处尚未看到其结果。")
NEVER_SUBMITTED = Text(
    "Slurm never got this job: submitting was broken off. Submit the notebook again.",
    "Slurm 没有收到此作业：提交过程被中断。请重新提交。",
)
BY_HAND = Text(
    "Only the script was asked for. Submit it with: sbatch job.sh, in the run's folder on a login node.",
    "仅生成了脚本。请在登录节点上的运行目录中提交：sbatch job.sh。",
)
SUBMITTING = Text("It is not known yet whether Slurm took the job.", "尚不确定 Slurm 是否已接受此作业。")
FORGOTTEN = Text(
    "Slurm has no record of this job any more, so how it ended cannot be said for certain.",
    "Slurm 已没有此作业的记录，无法确定其结束状态。",
)
NO_LOG = Text(
    "The node could not open the job's log in the run's folder: is your home, or the site's folder for runs, mounted "
    "and writable there? Tell your administrator which node it was.",
    "节点无法在运行目录中打开作业日志：该节点是否已挂载您的主目录（或站点的运行目录）且可写？请告知管理员是哪个节点。",
)
UNREADABLE = Text(
    "Its request.json cannot be read: the folder is damaged. Its other files are as they were.",
    "无法读取 request.json：目录已损坏。其他文件保持原样。",
)

# what job.sh found, by the `problem` in end.json (`siflab.script.run.PROBLEMS`)
PROBLEMS: dict[str, Text] = {
    "no-attempt": Text(
        "No folder could be made in the run's folder: the disk is full, or your quota is reached. Free some space.",
        "无法在运行目录中创建目录：磁盘已满或已达到配额。请清理空间。",
    ),
    "no-singularity": Text(
        "Singularity is not installed on the node; tell your administrator.",
        "节点上没有安装 Singularity；请联系管理员。",
    ),
    "no-image": Text(
        "The image cannot be read on the node; tell your administrator.", "节点上无法读取镜像；请联系管理员。"
    ),
    "no-bind": Text(
        "A folder that the container needs does not exist on the node (the log says which); tell your administrator.",
        "节点上缺少容器需要的目录（见日志）；请联系管理员。",
    ),
    "no-container": Text(
        "The container did not start, or its Python could not run the notebook's runner; the log has its words.",
        "容器没有启动，或其中的 Python 无法运行 notebook 运行器；详情见日志。",
    ),
    "no-requeue": Text(
        "It stopped before its time limit, and Slurm would not queue it again (the log says why). Resume it: its "
        "checkpoints are kept.",
        "已在时间上限之前停止，但 Slurm 不允许重新排队（原因见日志）。请继续运行：检查点均已保留。",
    ),
    "no-rendezvous": Text(
        "The nodes could not find each other: the address of the first node is not known; tell your administrator.",
        "各节点无法相互连接：首个节点的地址未知；请联系管理员。",
    ),
    "not-yours": Text(
        "The run's folder, or yours on scratch, is not yours alone, so nothing was run there (the log says which): its "
        "owner is not you, or everybody may write to it. Ask your administrator for it.",
        "运行目录或您的临时存储目录不是您独有的，因此没有运行（见日志）：所有者不是您，或任何人都可以写入。"
        "请联系管理员。",
    ),
    "signal": Text(
        "The process that runs the notebook was killed. What was printed until then is kept; see the log.",
        "运行 notebook 的进程被终止。此前的输出均已保留；请查看日志。",
    ),
}


def exited(code: int | None) -> Text:
    return Text(
        f"It ended with exit code {code}; see the log." if code is not None else "It failed; see the log.",
        f"以退出码 {code} 结束；请查看日志。" if code is not None else "运行失败；请查看日志。",
    )


def points(counts: dict[str, int]) -> Text:
    """``3 of 10 points completed, 1 failed``: a sweep's points by state."""
    done, total = counts.get("completed", 0), sum(counts.values())
    rest = [(number, STATES[state]) for state, number in counts.items() if state != "completed"]
    return Text(
        ", ".join([f"{done} of {total} points completed", *(f"{number} {state.en}" for number, state in rest)]),
        "，".join([f"{total} 个点中已完成 {done} 个", *(f"{number} 个{state.zh}" for number, state in rest)]),
    )


def disagreement(slurm: str, code: int | None) -> Text:
    """All cells ran, but Slurm says otherwise."""
    return Text(
        f"All cells ran, but Slurm ended the job as {slurm} (exit code {code}); see the log.",
        f"所有单元格都已运行，但 Slurm 将作业记为 {slurm}（退出码 {code}）；请查看日志。",
    )


def killed_in(cell_number: int | None) -> Text:
    """Where an attempt was that left no result."""
    if cell_number is None:
        return Text("It was not in a cell then.", "当时不在任何单元格中。")
    return Text(f"It was in cell {cell_number} then.", f"当时正在运行第 {cell_number} 个单元格。")
