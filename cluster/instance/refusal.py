"""Whether an instance may be set up here: not where somebody else's Slurm or munge is, or people of its names.

Packages alone are no hindrance: Debian's create a munge.key and the users munge and slurm by themselves.
"""

from cluster.instance.evidence import DAY, Evidence, Key
from siflab.text import Text

BESIDE = "SIFLAB_BESIDE_SLURM"


def package_made(key: Key) -> bool:
    """Whether munge.key is what Debian's package made when it came in, not a key that joins this host to a cluster.

    The package writes it in the minute of its installation (the time of its file list), and makes its user on that day;
    the user's day stays when an upgrade renews the list.
    """
    near_installation = abs(key.written - key.package_installed) < 3600
    on_the_users_day = key.user_made > 0 and -DAY <= key.written - key.user_made < 2 * DAY
    return near_installation or on_the_users_day


def slurm_reasons(found: Evidence) -> list[Text]:
    """Why this is a host of some cluster."""
    reasons = []
    if found.daemons:
        what = ", ".join(found.daemons)
        reasons.append(Text(f"Slurm or munge is running here: {what}.", f"本机正在运行 Slurm 或 munge：{what}。"))
    if found.configurations:
        what = ", ".join(found.configurations)
        reasons.append(Text(f"Slurm is configured here: {what}.", f"本机已配置 Slurm：{what}。"))
    if found.slurm_conf:
        reasons.append(
            Text(f"SLURM_CONF is set to {found.slurm_conf}.", f"环境变量 SLURM_CONF 已设为 {found.slurm_conf}。")
        )
    if found.key is not None and not package_made(found.key):
        reasons.append(
            Text(
                "/etc/munge/munge.key is not the one that Debian's package made, so this host belongs to a cluster.",
                "/etc/munge/munge.key 不是 Debian 软件包生成的密钥，说明本机属于某个集群。",
            )
        )
    if found.changed_munge_files:
        what = ", ".join(found.changed_munge_files)
        reasons.append(Text(f"munge is configured here: {what}.", f"本机已配置 munge：{what}。"))
    if found.users_without_package:
        what = ", ".join(found.users_without_package)
        reasons.append(
            Text(f"There are users {what}, and no package here made them.", f"存在用户 {what}，且并非由软件包创建。")
        )
    return reasons


def reasons(found: Evidence, beside: bool) -> list[Text]:
    """Why not, all at once; empty: go on. `beside`: the administrator has said that the other Slurm is known."""
    why = [] if beside else slurm_reasons(found)
    if found.people:
        what = ", ".join(found.people)
        why.append(
            Text(
                f"These users or their homes exist already, and were not made by this demo: {what}.",
                f"以下用户或其主目录已存在，且不是由本演示创建的：{what}。",
            )
        )
    if found.ports:
        what = ", ".join(str(port) for port in found.ports)
        why.append(Text(f"Something listens on port {what} already.", f"端口 {what} 已被占用。"))
    if found.files:
        what = ", ".join(found.files)
        why.append(Text(f"These files are there already: {what}.", f"以下文件已存在：{what}。"))
    return why


def refusal(why: list[Text]) -> Text:
    """The whole message: nothing was changed, why, and what to do."""
    listed_en = "\n".join(f"  - {text.en}" for text in why)
    listed_zh = "\n".join(f"  - {text.zh}" for text in why)
    return Text(
        f"Not set up here, and nothing was changed:\n{listed_en}\n"
        "Use a machine (a virtual machine or a container) that may be changed. Where only the packages' own services "
        "run, stop them (systemctl disable --now munge slurmd slurmctld slurmdbd). On a host whose Slurm you know and "
        f"that may have a second one beside it, set {BESIDE}=1.",
        f"未在本机安装，也没有做任何改动：\n{listed_zh}\n"
        "请使用一台可以改动的机器（虚拟机或容器）。如果只是软件包自带的服务在运行，请先停止它们"
        "（systemctl disable --now munge slurmd slurmctld slurmdbd）。"
        "如果您了解本机的 Slurm，并允许再并行运行一套，"
        f"请设置 {BESIDE}=1。",
    )
