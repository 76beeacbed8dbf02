"""What the exit codes of a session's script and shim mean (siflab.script.session, siflab.node.shim)."""

from siflab.text import Text

_MEANINGS: dict[int, tuple[str, str]] = {
    31: (
        "no private folder could be made on the node; its disk may be full. Start again, and tell your administrator",
        "无法在节点上创建私有目录，磁盘可能已满。请重新启动，并告知管理员",
    ),
    32: (
        "Singularity is not installed on the node; tell your administrator",
        "节点上没有安装 Singularity；请联系管理员",
    ),
    33: ("the node cannot read the image; tell your administrator", "节点无法读取镜像；请联系管理员"),
    34: (
        "a folder that the container needs does not exist on the node; tell your administrator",
        "容器需要的目录在节点上不存在；请联系管理员",
    ),
    35: (
        "the image has no such Python as site.yaml says; tell your administrator",
        "镜像中没有 site.yaml 指定的 Python；请联系管理员",
    ),
    36: (
        "the container did not start; the last lines of the log say why; tell your administrator",
        "容器未能启动；日志的最后几行说明了原因；请联系管理员",
    ),
    37: (
        "the image's Python is older than 3.6; tell your administrator",
        "镜像中的 Python 早于 3.6；请联系管理员",
    ),
    41: ("the Hub refused it; start again", "Hub 拒绝了它；请重新启动"),
    42: (
        "the Hub could not be reached from the node for 15 minutes; start again",
        "节点 15 分钟内无法连接 Hub；请重新启动",
    ),
    43: (
        "the server could not be run, or ended before it was ready; the last lines of the log say why",
        "服务器无法运行，或在就绪前结束；日志的最后几行说明了原因",
    ),
    44: ("the server did not listen within the boot limit; start again", "服务器未在启动时限内就绪；请重新启动"),
    45: ("no free port could be had on the node; start again", "节点上没有可用端口；请重新启动"),
    46: ("the server was killed by a signal; start again", "服务器被信号终止；请重新启动"),
    47: ("the job was told to end before it was ready", "作业在就绪前被要求结束"),
    48: (
        "the image has no JupyterHub or no JupyterLab; tell your administrator",
        "镜像中没有 JupyterHub 或 JupyterLab；请联系管理员",
    ),
}  # fmt: skip


def meaning(code: int) -> Text | None:
    """What a session's exit code says, as the end of a sentence; None when it is the server's own."""
    return Text(*_MEANINGS[code]) if code in _MEANINGS else None


def server_ended(code: int) -> Text:
    """The server ended before it was ready."""
    known = meaning(code)
    why = known or Text("the last lines of its log say more", "日志的最后几行有更多信息")
    return Text(
        f"JupyterLab ended with exit code {code} before it was ready: {why.en}.",
        f"JupyterLab 在就绪前以退出码 {code} 结束：{why.zh}。",
    )
