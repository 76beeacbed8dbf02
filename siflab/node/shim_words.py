"""What the shim says of why a session ends, to the person and to the job's log."""

from .words import Words


def told_to_end():
    return Words("told to end before the server was started", "服务器启动前收到结束信号")


def hub_away(minutes, trouble):
    return Words(
        "the Hub did not answer for %d minutes (%s); start the session again when it is back" % (minutes, trouble),
        "Hub 在 %d 分钟内没有响应（%s）；待其恢复后请重新启动会话" % (minutes, trouble),
    )


def ports_taken(node):
    return Words(
        "other processes on node %s took one port after the other; start the session again" % node,
        "节点 %s 上的其他进程不断抢占端口；请重新启动会话" % node,
    )


def not_written(node, error):
    return Words(
        "the private folder on node %s cannot be written (%s): is its disk full? Start the session again"
        % (node, error),
        "节点 %s 上的私有目录无法写入（%s）：磁盘是否已满？请重新启动会话" % (node, error),
    )


def not_runnable(program, error):
    return Words(
        "%s cannot be run in the image (%s); tell your administrator (`images` in site.yaml)"
        % (program, error.strerror),
        "镜像中无法运行 %s（%s）；请联系管理员（site.yaml 中的 `images`）" % (program, error.strerror),
    )


def slow(limit):
    return Words(
        "the server did not listen within %d s (session.boot_limit in site.yaml); start it again, and if that happens "
        "again tell your administrator" % limit,
        "服务器在 %d 秒内没有开始监听（site.yaml 中的 session.boot_limit）；请重试，若再次发生请联系管理员" % limit,
    )


def no_server(code):
    en, zh = ("signal %d", "信号 %d") if code < 0 else ("exit code %d", "退出码 %d")
    return Words(
        "the server ended (%s) before it could be reached; its last lines say why. The image must have JupyterHub and "
        "JupyterLab" % (en % abs(code)),
        "服务器在可访问之前退出（%s），原因见其最后的输出。镜像中必须有 JupyterHub 和 JupyterLab" % (zh % abs(code)),
    )


def killed(code):
    if code >= 0:
        return Words("the server ended with exit code %d" % code, "服务器以退出码 %d 结束" % code)
    return Words(
        "the server was ended by signal %d%s" % (-code, " (often: out of memory)" if code == -9 else ""),
        "服务器被信号 %d 终止%s" % (-code, "（常见原因：内存不足）" if code == -9 else ""),
    )
