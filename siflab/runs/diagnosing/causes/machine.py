"""Causes of the machine, in words: memory, time, Slurm, disks, the container."""

from siflab.runs.diagnosing.told import Told, told

MACHINE: dict[str, Told] = {
    "host_memory": told(
        "It used more memory than the {asked} that it asked for, so it was killed.",
        "使用的内存超过申请的 {asked}，因此被终止。",
        "Ask for more memory, read less at a time, or use fewer DataLoader workers: each holds a copy of what it "
        "reads.",
        "请申请更多内存、减少一次读入的数据，或减少 DataLoader 的 worker 数（每个 worker 都会占用一份内存）。",
    ),
    "killed": told(
        "It was killed by SIGKILL, and nobody left a word why.",
        "被 SIGKILL 终止，没有留下原因。",
        "Most often the {asked} of memory that it asked for did not suffice: ask for more, or use less at a time.",
        "最常见的原因是申请的 {asked} 内存不够：请申请更多内存，或减少一次使用的内存。",
    ),
    "allocation": told(
        "One allocation was larger than the memory that could be had.",
        "一次内存分配超过了可用内存。",
        "The job asked for {asked}. See whether the size is what you meant; else ask for more, or work in pieces.",
        "作业申请了 {asked}。请检查该大小是否有误；否则请申请更多内存，或分批处理。",
    ),
    "time_limit": told(
        "Its time limit of {time} was reached.",
        "已达到时间上限（{time}）。",
        "What was printed is kept. Ask for more time; or save checkpoints (siflab.checkpoint) and allow more "
        "attempts, "
        "each of which goes on where the one before stopped.",
        "已打印的内容均已保留。请申请更长时间；或保存检查点（siflab.checkpoint）并允许多次尝试，"
        "每次从上一次停止处继续。",
    ),
    "never_starts": told(
        "It waits and will never start: {reason}.",
        "正在等待，但不会启动：{reason}。",
        "Cancel it, and submit it again within the limits of the partition and of your account.",
        "请取消它，并在分区和账户的限制之内重新提交。",
    ),
    "node_failure": told(
        "Its node failed.",
        "节点发生故障。",
        "It is not the notebook's fault: run it again. What was printed until then is kept, but for the last seconds.",
        "与 notebook 无关：请重新运行。除最后几秒外，已打印的内容均已保留。",
    ),
    "preemption": told(
        "It was preempted: it gave way to a job of higher priority.",
        "被抢占：让位给了更高优先级的作业。",
        "Run it again with checkpoints, or choose a partition that is not preempted.",
        "请使用检查点重新运行，或选择不会被抢占的分区。",
    ),
    "cancelled": told(
        "It was cancelled by {by}.",
        "被{by_zh}取消。",
        "What was printed until then is kept.",
        "此前打印的内容均已保留。",
    ),
    "stopped": told(
        "It was told to stop, and stopped.",
        "收到停止信号后已停止。",
        "If that was not you: an administrator, a preemption or a maintenance did it. What was printed is kept.",
        "如果不是您操作的：可能是管理员、抢占或维护。已打印的内容均已保留。",
    ),
    "no_requeue": told(
        "It stopped before its time limit, but Slurm would not queue it again.",
        "已在时间上限之前停止，但 Slurm 不允许重新排队。",
        "Go on with `siflab resume {id}`: its checkpoints are kept.",
        "可用 `siflab resume {id}` 继续：检查点均已保留。",
    ),
    "not_yours": told(
        "The run's folder, or yours on scratch, is not yours alone: nothing was run there.",
        "运行目录或您的临时存储目录不是您独有的：没有在其中运行任何程序。",
        "Another user could have changed what runs. Ask your administrator to give the folder that the log names to "
        "you (chown), or to take the right away (chmod o-w).",
        "其他用户可能改变所运行的内容。请管理员将日志中所述的目录交给您（chown），或取消该权限（chmod o-w）。",
    ),
    "shared_memory": told(
        "Shared memory (/dev/shm) did not suffice.",
        "共享内存（/dev/shm）不足。",
        "DataLoader workers and NCCL pass data through it. Use fewer workers or num_workers=0, a smaller batch, or "
        "torch.multiprocessing.set_sharing_strategy('file_system'). Singularity uses the node's own /dev/shm, which "
        "counts as memory of the job.",
        "DataLoader 的 worker 和 NCCL 通过它传递数据。请减少 worker 或设 num_workers=0、减小 batch，或使用 "
        "torch.multiprocessing.set_sharing_strategy('file_system')。Singularity 使用节点自身的 /dev/shm，"
        "并计入作业内存。",
    ),
    "worker_died": told(
        "A worker process died.",
        "一个 worker 进程意外退出。",
        "Most often it ran out of memory ({asked} was asked for), or native code in it crashed. With "
        "num_workers=0 the "
        "error itself is seen.",
        "最常见的原因是内存不足（申请了 {asked}），或其中的本机代码崩溃。设 num_workers=0 可看到真正的错误。",
    ),
    "disk_full": told(
        "A disk is full, or a quota is reached.",
        "磁盘已满，或已达到配额。",
        "Free some space (old checkpoints, caches below ~/.cache), or write to scratch, and run it again.",
        "请清理空间（旧检查点、~/.cache 下的缓存），或写到临时存储（scratch），然后重新运行。",
    ),
    "read_only": told(
        "It wrote to a place that is read-only.",
        "写入了只读位置。",
        "The image and folders bound read-only cannot be written. Write to $OUTPUT_DIR or to your home.",
        "镜像以及以只读方式挂载的目录不可写。请写到 $OUTPUT_DIR 或您的主目录。",
    ),
    "permission": told(
        "It may not open a file.",
        "没有权限打开某个文件。",
        "See whose the file is with `ls -l`; ask its owner, or write to $OUTPUT_DIR.",
        "请用 `ls -l` 查看文件所有者；请联系所有者，或写到 $OUTPUT_DIR。",
    ),
    "bind": told(
        "A folder that the container needs is not on the node.",
        "节点上缺少容器需要的目录。",
        "Tell your administrator which one it is, and the node.",
        "请将该目录和节点名告知管理员。",
    ),
    "image_broken": told(
        "The image cannot be opened on the node.",
        "节点上无法打开镜像。",
        "It is missing there, damaged or half copied: tell your administrator.",
        "镜像缺失、损坏或未复制完整：请联系管理员。",
    ),
    "image_unfit": told(
        "The image has not what the notebook needs to run.",
        "镜像缺少运行 notebook 所需的内容。",
        "Choose another image or kernel, or ask for nbclient and ipykernel in this one.",
        "请选择其他镜像或内核，或请管理员在此镜像中安装 nbclient 和 ipykernel。",
    ),
    "container": told(
        "The container did not start.",
        "容器没有启动。",
        "The log has its words; tell your administrator.",
        "详情见日志；请联系管理员。",
    ),
    "no_singularity": told(
        "Singularity is not installed on the node.",
        "节点上没有安装 Singularity。",
        "Tell your administrator.",
        "请联系管理员。",
    ),
    "no_log": told(
        "The node could not open the job's log in the run's folder.",
        "节点无法在运行目录中打开作业日志。",
        "Your home, or the site's folder for runs, is not mounted or not writable there: tell your administrator "
        "the node.",
        "您的主目录（或站点的运行目录）在该节点未挂载或不可写：请将节点名告知管理员。",
    ),
    "step_failed": told(
        "Slurm could not start the step of the job.",
        "Slurm 无法启动作业步。",
        "The log has its words. Run it again; if it stays so tell your administrator.",
        "详情见日志。请重新运行；若仍如此请联系管理员。",
    ),
    "kernel_exited": told(
        "The kernel ended by itself.",
        "内核自行退出。",
        "See logs/kernel.log for what it said.",
        "其输出见 logs/kernel.log。",
    ),
    "killed_by_signal": told(
        "It was ended by {signal}.",
        "被 {signal} 终止。",
        "See the log; what was printed until then is kept.",
        "请查看日志；此前打印的内容均已保留。",
    ),
    "unknown": told(
        "It ended with exit code {code}, and nothing that was left says why.",
        "以退出码 {code} 结束，没有留下原因。",
        "See the end of the log.",
        "请查看日志末尾。",
    ),
}
