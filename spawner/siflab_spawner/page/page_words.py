"""The words of the Hub's pages around a start: while it goes on, when it failed, when a session is over."""

from siflab.text import Text

WORDS: dict[str, Text] = {
    "heading": Text("Start a session", "启动会话"),
    "for_user": Text("This session is started for {user}.", "此会话将为 {user} 启动。"),
    "error": Text("Error:", "错误："),
    "start": Text("Start", "启动"),
    "starting": Text("Your session is starting", "会话正在启动"),
    "waiting": Text("Your session waits in the queue", "会话正在排队"),
    "preparing": Text("Your session is being prepared", "会话正在准备"),
    "ready": Text("Your session is ready", "会话已就绪"),
    "failed": Text("Your session did not start", "会话未能启动"),
    "may_leave": Text(
        "It opens by itself when it is ready. You may close this page and come back.",
        "就绪后会自动打开。您可以关闭此页，稍后再回来。",
    ),
    "progress": Text("Progress of the start", "启动进度"),
    "elapsed": Text("Elapsed", "已用时间"),
    "expected": Text("Expected to start", "预计开始"),
    "about": Text("about {at}", "约 {at}"),
    "unknown": Text("not known yet", "尚未确定"),
    "job": Text("Slurm job", "Slurm 作业"),
    "node": Text("Node", "节点"),
    "log": Text("Event log", "事件记录"),
    "notify": Text("Notify me when ready", "就绪时通知我"),
    "will_notify": Text("You will be notified; keep this tab open.", "就绪时会通知您；请保持此标签页打开。"),
    "title_only": Text(
        "Your browser does not allow notifications here; the title of this tab will change instead.",
        "浏览器不允许在此发送通知；将改为更改此标签页的标题。",
    ),
    "stop": Text("Stop Server", "停止服务器"),
    "stopping": Text("Stopping ...", "正在停止……"),
    "stopped": Text("Stopped.", "已停止。"),
    "not_stopped": Text(
        "It could not be stopped ({why}). Try again; it also ends at its time limit.",
        "无法停止（{why}）。请重试；到达时间上限后它也会结束。",
    ),
    "lost": Text(
        "The Hub does not answer at present; your job is not affected. This page goes on by itself.",
        "Hub 暂时没有响应；您的作业不受影响。本页会自动恢复。",
    ),
    "log_tail": Text("Last lines of the job's log", "作业日志的最后几行"),
    "again": Text("Start again", "重新启动"),
    "home": Text("Home", "主页"),
    "what_now": Text(
        "Your last choice is kept: look at it, change what is wrong, and start again.",
        "您上次的选择已保留：请检查并修改后重新启动。",
    ),
    "over": Text("This session is not running", "此会话未在运行"),
    "start_it": Text(
        "Start it again to go on; your files are where you left them.",
        "重新启动即可继续；您的文件都在原处。",
    ),
    "stop_pending": Text("Your session is stopping", "会话正在停止"),
    "stop_wait": Text(
        "Slurm ends the job; this can take half a minute. Then you can start again.",
        "Slurm 正在结束作业，可能需要半分钟。之后即可重新启动。",
    ),
    "refresh": Text("Refresh", "刷新"),
}  # fmt: skip
