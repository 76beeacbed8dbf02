"""Causes in the program or in what it stands on, in words: GPU, ranks, network, modules, files, its own code."""

from siflab.runs.diagnosing.told import Told, told

PROGRAM: dict[str, Told] = {
    "gpu_memory": told(
        "The GPU's memory did not suffice.",
        "GPU 显存不足。",
        "More host memory does not help. Use a smaller batch, turn on mixed precision (AMP) or gradient "
        "accumulation (see "
        "https://docs.pytorch.org/docs/stable/notes/amp_examples.html), or choose a GPU with more memory.",
        "增加主机内存没有帮助。请减小 batch，启用混合精度（AMP）或梯度累积"
        "（见 https://docs.pytorch.org/docs/stable/notes/amp_examples.html），或选择显存更大的 GPU。",
    ),
    "driver": told(
        "The node's NVIDIA driver is too old for the CUDA of the image.",
        "节点的 NVIDIA 驱动对镜像中的 CUDA 来说太旧。",
        "Choose an image with an older CUDA, or a partition with a newer driver; tell your administrator.",
        "请选择 CUDA 版本较低的镜像，或驱动较新的分区；并告知管理员。",
    ),
    "no_kernel_image": told(
        "The image's software was not built for this GPU.",
        "镜像中的软件不是为此型号 GPU 编译的。",
        "Choose an image with a newer (or, for an old GPU, an older) build of torch or CUDA, or another GPU.",
        "请选择 torch 或 CUDA 版本更新的镜像（旧 GPU 则选择更旧的），或换用其他 GPU。",
    ),
    "cpu_build": told(
        "The torch of the image is a CPU build: it knows no CUDA and no NCCL.",
        "镜像中的 torch 是 CPU 版：不支持 CUDA 和 NCCL。",
        "Choose an image with a CUDA build; on CPUs use device 'cpu' and the backend gloo.",
        "请选择带 CUDA 版 torch 的镜像；在 CPU 上请使用设备 'cpu' 和 gloo 后端。",
    ),
    "no_gpu": told(
        "It found no GPU.",
        "没有找到 GPU。",
        "The job asked for {gpus} GPU(s) a node. Ask for one; if it did, tell your administrator the node.",
        "作业每节点申请了 {gpus} 个 GPU。请申请 GPU；如果已申请，请将节点名告知管理员。",
    ),
    "device_number": told(
        "It asked for a GPU number that the job does not have.",
        "使用了作业没有的 GPU 编号。",
        "The job has {gpus} GPU(s) a node, numbered from 0: use cuda:$LOCAL_RANK, or ask for more.",
        "作业每节点有 {gpus} 个 GPU，从 0 编号：请使用 cuda:$LOCAL_RANK，或申请更多。",
    ),
    "gpu_broken": told(
        "The GPU reported a hardware error.",
        "GPU 报告了硬件错误。",
        "It is not the notebook's fault. Tell your administrator the node, and run it again.",
        "与 notebook 无关。请将节点名告知管理员，并重新运行。",
    ),
    "gpu_program": told(
        "A kernel on the GPU failed: most often an index, such as a label, is out of range.",
        "GPU 上的计算核函数出错：最常见的原因是索引（如标签）越界。",
        "The line that is shown may be a later one. Run it on the CPU, or with CUDA_LAUNCH_BLOCKING=1, to see the "
        "right one.",
        "显示的行可能偏后。请在 CPU 上运行，或设置 CUDA_LAUNCH_BLOCKING=1 以得到准确位置。",
    ),
    "port_in_use": told(
        "A network port that it wanted is in use by another program.",
        "所需的网络端口已被占用。",
        "Do not set a port of your own (29500 is everybody's): Siflab chooses a free one for MASTER_PORT. Run it "
        "again.",
        "请勿自行设置端口（29500 人人都用）：Siflab 会为 MASTER_PORT 选择空闲端口。请重新运行。",
    ),
    "collective_timeout": told(
        "Ranks waited for each other until a time limit of NCCL's or gloo's.",
        "各 rank 相互等待，直到通信超时。",
        "Some rank did not come to the same collective: another number of batches, a branch on the rank, or slow "
        "reading "
        "on one of them. Compare the logs of the ranks.",
        "某个 rank 没有执行到同一集合通信：batch 数不同、按 rank 分支，或其中一个读数据太慢。请比较各 rank 的日志。",
    ),
    "peer_lost": told(
        "A rank lost its connection to another one, which had ended before.",
        "某个 rank 与另一个先退出的 rank 失去连接。",
        "That is the consequence, not the cause: look in the logs of the other ranks for the first error.",
        "这是结果而非原因：请在其他 rank 的日志中查找最早的错误。",
    ),
    "rendezvous": told(
        "The processes did not find each other in time.",
        "各进程未能及时建立连接。",
        "One of them did not start or ended at once (see its log), or the nodes cannot reach each other over the "
        "network "
        "that was chosen. Run it again; if it stays so tell your administrator.",
        "某个进程没有启动或立即退出（见其日志），或节点之间在所选网络上不通。请重新运行；若仍如此请联系管理员。",
    ),
    "nccl": told(
        "NCCL, by which GPUs talk to each other, failed.",
        "GPU 间通信库 NCCL 出错。",
        "The lines with NCCL WARN say why; with NCCL_DEBUG=INFO there are more. Often it is the network interface "
        "(NCCL_SOCKET_IFNAME, which site.yaml sets for a partition): tell your administrator.",
        "含 NCCL WARN 的行说明原因；设置 NCCL_DEBUG=INFO 可得到更多信息。常见原因是网络接口（NCCL_SOCKET_IFNAME，由 "
        "site.yaml 按分区设置）：请联系管理员。",
    ),
    "network": told(
        "It could not reach another machine.",
        "无法连接其他机器。",
        "Compute nodes often have no way out: download data and models before, on a login node or in a session.",
        "计算节点通常无法访问外网：请事先在登录节点或会话中下载数据和模型。",
    ),
    "shadowed_module": told(
        "A file of yours has the name of a module, and is imported in its place.",
        "您的某个文件与模块同名，被误当作该模块导入。",
        "Rename the file (and remove its __pycache__).",
        "请重命名该文件（并删除其 __pycache__）。",
    ),
    "missing_library": told(
        "A library that a package needs is not in the image, or of another version.",
        "镜像中缺少某软件包所需的库，或版本不符。",
        "The package was built for another system: install it anew for this image (siflab env), or choose another "
        "image.",
        "该软件包是为其他系统编译的：请为此镜像重新安装（siflab env），或选择其他镜像。",
    ),
    "missing_module": told(
        "The module {module} is not in the image.",
        "镜像中没有模块 {module}。",
        "Install it on top of the image with `siflab env`, or choose another image; a module of your own must lie "
        "beside "
        "the notebook.",
        "请用 `siflab env` 在镜像之上安装，或选择其他镜像；您自己的模块须放在 notebook 旁边。",
    ),
    "wrong_version": told(
        "A package has not what the code imports from it: {error}",
        "软件包中没有代码要导入的内容：{error}",
        "Most often it is of another version than the code expects: see `siflab env`, or choose another image.",
        "最常见的原因是版本与代码预期不符：请用 `siflab env` 安装所需版本，或选择其他镜像。",
    ),
    "missing_file": told(
        "There is no file {path} in the job.",
        "作业中没有文件 {path}。",
        "See its spelling. The job sees only the folders that the site binds, under the names that it has inside; "
        "relative "
        "paths begin in the notebook's folder.",
        "请检查拼写。作业只能看到站点挂载的目录（以容器内的名称）；相对路径以 notebook 所在目录为起点。",
    ),
    "exit_called": told(
        "A cell called exit() or quit(), so what follows did not run.",
        "某个单元格调用了 exit() 或 quit()，其后的内容没有运行。",
        "Remove the call.",
        "请删除该调用。",
    ),
    "crash": told(
        "Native code crashed ({signal}).",
        "本机代码崩溃（{signal}）。",
        "The end of the log says where. Often a package does not fit the image's libraries, or an index is out of "
        "range.",
        "日志末尾有崩溃位置。常见原因是软件包与镜像中的库不兼容，或索引越界。",
    ),
    "user_exception": told(
        "Its own code raised {error}",
        "代码抛出异常 {error}",
        "Correct it and submit it again.",
        "请修正后重新提交。",
    ),
    "cell_timeout": told(
        "A cell ran longer than a cell may.",
        "某个单元格运行时间超过限制。",
        "Split it, or raise cell_timeout.",
        "请拆分单元格，或增大 cell_timeout。",
    ),
    "bad_notebook": told(
        "The notebook could not be read.",
        "无法读取 notebook。",
        "Open and save it in Jupyter, then run it again.",
        "请在 Jupyter 中打开并保存，然后重新运行。",
    ),
}
