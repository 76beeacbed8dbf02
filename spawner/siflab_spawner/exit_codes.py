"""What the exit codes of a session's script and shim mean (siflab/script/templates/session.sh, siflab/node/shim.py)."""

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
    41: ("the Hub refused it; start again", "Hub 拒绝了它；请重新启动"),
    42: (
        "the Hub could not be reached from the node for 15 minutes; start again",
        "节点 15 分钟内无法连接 Hub；请重新启动",
    ),
    43: ("no free port could be had on the node; start again", "节点上没有可用端口；请重新启动"),
    126: ("the container could not run its program", "容器无法运行其程序"),
    127: ("a program was not found in the container", "容器中找不到程序"),
    255: (
        "Singularity could not start the container; the last lines of the log say why",
        "Singularity 无法启动容器；日志的最后几行说明了原因",
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
