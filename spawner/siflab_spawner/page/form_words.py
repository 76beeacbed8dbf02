"""The words of the form on the spawn page, in both languages; title and Start are in `page_words`. Those with
{braces} are filled in by `str.format` here, and by the same rule in static/spawn.js."""

from siflab.text import Text

LABELS: dict[str, Text] = {
    "profile": Text("Profile", "资源配置"),
    "image": Text("Image", "镜像"),
    "partition": Text("Partition", "分区"),
    "gpu_type": Text("GPU type", "GPU 型号"),
    "gpus": Text("GPUs", "GPU 数"),
    "cpus": Text("CPUs", "CPU 数"),
    "memory": Text("Memory", "内存"),
    "time": Text("Time limit", "时间上限"),
    "account": Text("Account", "账户"),
    "qos": Text("QOS", "QOS"),
    "reservation": Text("Reservation", "预约"),
}
WORDS: dict[str, Text] = {
    **LABELS,
    "choose": Text("Choose what to start", "选择要启动的资源"),
    "no_gpu": Text("no GPU", "无 GPU"),
    "up_to": Text("up to {most}", "最多 {most}"),
    "from_to": Text("from {least} to {most}", "{least} 到 {most}"),
    "usual": Text("as usual", "默认"),
    "not_possible": Text("not possible: {why}", "不可选：{why}"),
    "not_offered": Text(
        "{value} cannot be chosen now; look at what is chosen instead",
        "现在不能选择 {value}；请确认已改选的值",
    ),
    "free_gpus": Text("{free} of {total} {type} free now", "{type}：共 {total}，现空闲 {free}"),
    "free_cpus": Text("{free} of {total} CPUs free now", "CPU：共 {total}，现空闲 {free}"),
    "free_of": Text("{free} of {total} free", "共 {total}，空闲 {free}"),
    "of": Text("{free} of {total}", "{free}/{total}"),
    "with_why": Text("{hint} ({why})", "{hint}（{why}）"),
    "at_field": Text("{label}: {message}", "{label}：{message}"),
    "down_of": Text("{down} down", "{down} 个停用"),
    "partition_is": Text("partition {name} is {state}", "分区 {name}：{state}"),
    "state_up": Text("up", "正常"),
    "state_down": Text("down: jobs wait until it is up again", "已停用：作业需等待恢复"),
    "state_drain": Text("draining: it takes no new jobs", "正在排空：不接受新作业"),
    "state_inactive": Text("inactive: it takes no jobs", "未启用：不接受作业"),
    "inventory": Text("What is free: partitions, nodes and GPUs", "空闲情况：分区、节点与 GPU"),
    "nodes_idle": Text("{idle} of {total} nodes idle", "共 {total} 个节点，空闲 {idle}"),
    "time_limit": Text("time limit {time}", "时间上限 {time}"),
    "nodes_left_out": Text("and {count} more nodes", "另有 {count} 个节点"),
    "node": Text("Node", "节点"),
    "state": Text("State", "状态"),
    "cpus_free": Text("CPUs free", "空闲 CPU"),
    "memory_free": Text("Memory free", "空闲内存"),
    "gpus_free": Text("GPUs free", "空闲 GPU"),
    "shard": Text("{type} (shared part of a GPU)", "{type}（共享 GPU 份额）"),
    "as_of": Text("As Slurm said at {at}.", "Slurm 于 {at} 的数据。"),
    "stale": Text("Slurm does not answer at present; these figures are of {at}.", "Slurm 暂无响应；数据为 {at}。"),
    "loading": Text("Asking what is free ...", "正在查询空闲情况……"),
    "no_offer": Text(
        "What is free cannot be shown: the Hub or Slurm does not answer. You can start all the same; this page "
        "tries again.",
        "无法显示空闲情况：Hub 或 Slurm 没有响应。仍可启动；本页会自动重试。",
    ),
    "mig": Text("{type} (MIG slice)", "{type}（MIG 切片）"),
    "estimate": Text("When it would start", "预计启动时间"),
    "estimating": Text("Asking Slurm when it would start ...", "正在向 Slurm 查询启动时间……"),
    "no_estimate": Text(
        "When it would start is not known: the Hub or Slurm does not answer. You can start all the same; this page "
        "tries again.",
        "无法得知何时启动：Hub 或 Slurm 没有响应。仍可启动；本页会自动重试。",
    ),
    "logged_out": Text("You are no longer logged in: reload the page.", "您已退出登录：请重新加载页面。"),
    "ask_later": Text("Slurm is asked again in {seconds} s.", "{seconds} 秒后再次查询 Slurm。"),
    "sooner": Text("These would start sooner; press one to take it over:", "以下选择可更早启动，点击即可采用："),
    "taken": Text("Taken over: {what}", "已采用：{what}"),
    "mend": Text("This cannot be started as it is:", "当前选择无法启动："),
    "none": Text(
        "There is no profile that you may use. Ask your administrator to add you to a group of this site.",
        "没有您可以使用的资源配置。请联系管理员将您加入相应的用户组。",
    ),
}  # fmt: skip


def in_language(language: str) -> dict[str, str]:
    return {name: text.to(language) for name, text in WORDS.items()}
