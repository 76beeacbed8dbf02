"""The cluster as a whole: up, down, purge and status, in the order in which its parts need each other."""

import fcntl
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from cluster.lab import cgroups, daemons, database, folders, munge, network, nodes, people, processes
from cluster.lab.settings import Settings, kept_settings
from cluster.lab.trouble import Trouble
from siflab.text import Text

Say = Callable[[Text], None]


@contextmanager
def alone(root: Path) -> Iterator[None]:
    """Only one command changes a cluster at a time; the lock ends with its process, so a kill -9 leaves none."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Trouble(
                Text(f"Another command is at work on the cluster in {root}.", f"另一条命令正在操作 {root} 中的集群。"),
                Text("Wait until it has ended.", "请等它结束。"),
            ) from None
        yield


def settle(settings: Settings, say: Say) -> Settings:
    """Choose what is left to `auto`; a cluster that runs keeps what it runs with."""
    kept = kept_settings(settings.root)
    if kept is not None and processes.daemon(settings.root, daemons.CTLD) is not None:
        if replace(settings, mode=kept.mode, limits=kept.limits, members=kept.members) != replace(kept):
            raise Trouble(
                Text(
                    f"The cluster in {settings.root} runs with other settings.",
                    f"{settings.root} 中的集群以其他设置运行。",
                ),
                Text("Take it down first (down), or purge it.", "请先执行 down 或 purge。"),
            )
        return replace(kept, members=settings.members)
    if kept is not None and kept.name != settings.name:
        raise Trouble(
            Text(f"{settings.root} holds the cluster {kept.name}.", f"{settings.root} 中是集群 {kept.name}。"),
            Text("Purge it first, or choose another root folder.", "请先 purge，或另选目录。"),
        )
    mode, limits = settings.mode, settings.limits
    if mode in ("auto", "netns"):
        why = network.impossible()
        if why is not None:
            mode = "loopback"
            say(
                Text(
                    f"Network namespaces cannot be made here ({why}). The nodes get addresses "
                    f"127.0.{settings.network}.x instead: they are not apart, one can reach another by localhost.",
                    f"此处无法创建网络命名空间（{why}）。节点改用 127.0.{settings.network}.x 地址："
                    "节点之间并不隔离，可经 localhost 互访。",
                )
            )
        else:
            mode = "netns"
    if limits == "auto":
        limits = "cgroup" if cgroups.usable() else "none"
        if limits == "none":
            say(
                Text(
                    "cgroup v1 cannot be used here: jobs are not confined to their memory and GPUs.",
                    "此处无法使用 cgroup v1：作业的内存和 GPU 不受限制。",
                )
            )
    return replace(settings, mode=mode, limits=limits)


def up(settings: Settings, say: Say) -> Settings:
    """Start all that does not run yet, whatever an earlier end left behind; returns the settings as settled."""
    begun = time.monotonic()

    def reached(part: str) -> None:
        say(Text.plain(f"{time.monotonic() - begun:5.1f} s  {part}"))

    settings = settle(settings, say)
    people.make_users(settings)
    folders.make_folders(settings)
    folders.write_files(settings)
    settings.save()
    warnings = [nodes.make_gpus(settings)]
    if settings.mode == "netns":
        network.bridge_up(settings)
        warnings.append(network.filtered(settings))
    for warning in warnings:
        if warning is not None:
            say(warning)
    munge.start(settings)
    reached("munge")
    database.start(settings)
    reached("MariaDB")
    daemons.start_slurmdbd(settings)
    reached("slurmdbd")
    daemons.start_slurmctld(settings)
    reached("slurmctld")
    for node in settings.nodes:
        nodes.start(settings, node)
    people.seed(settings)
    reached("accounts")
    nodes.wait_until_idle(settings, [node.name for node in settings.nodes])
    reached("slurmd " + " ".join(node.name for node in settings.nodes))
    return settings


def down(settings: Settings) -> None:
    """End everything: no process, network namespace, link or cgroup stays. Safe on what is half up or down already."""
    daemons.cancel_all_jobs(settings)
    nodes.stop_all(settings)
    daemons.stop_slurmctld(settings)
    daemons.stop_slurmdbd(settings)
    database.stop(settings)
    munge.stop(settings)
    processes.stop(processes.marked(settings.root), 5)
    if settings.mode == "netns":
        network.bridge_down(settings)
    left = cgroups.remove(settings)
    if left:
        paths = ", ".join(str(path) for path in left)
        raise Trouble(Text(f"These cgroups could not be removed: {paths}.", f"无法删除这些 cgroup：{paths}。"))


def purge(settings: Settings) -> None:
    """Down, and the root folder gone with all accounting. People's homes are theirs and stay."""
    down(settings)
    shutil.rmtree(settings.root)


def status(settings: Settings) -> list[tuple[str, int | None]]:
    """Each daemon and its pid, None if it is not running."""
    roles = [munge.ROLE, database.ROLE, daemons.DBD, daemons.CTLD, *(nodes.role(node) for node in settings.nodes)]
    return [(role, processes.daemon(settings.root, role)) for role in roles]
