"""The compute nodes: fake GPUs, a slurmd each, and their end with all that runs on them."""

import os
import signal
from pathlib import Path

from cluster.lab import cgroups, network, processes
from cluster.lab.daemons import environment, slurm
from cluster.lab.settings import Node, Settings
from cluster.lab.trouble import Trouble
from siflab.text import Text

HERE = Path(__file__).resolve().parent
GPU_MAJOR = 240  # Linux's numbers 240 to 254 are for local use: no driver answers, which is all that a fake GPU needs


def role(node: Node) -> str:
    return f"slurmd {node.name}"


def make_gpus(settings: Settings) -> Text | None:
    """Character devices: Slurm sets CUDA_VISIBLE_DEVICES for no other file. A warning where none can be made."""
    minor = 0
    for node in settings.nodes:
        folder = settings.root / "dev" / node.name
        folder.mkdir(parents=True, exist_ok=True)
        for index in range(node.gpus):
            device = folder / f"nvidia{index}"
            if not device.is_char_device():
                device.unlink(missing_ok=True)
                try:
                    os.mknod(device, 0o666 | 0o020000, os.makedev(GPU_MAJOR, minor))
                except OSError as error:
                    device.touch()
                    return Text(
                        f"No device can be made ({error}): GPUs are plain files, CUDA_VISIBLE_DEVICES stays unset.",
                        f"无法创建设备文件（{error}）：GPU 只是普通文件，不会设置 CUDA_VISIBLE_DEVICES。",
                    )
                device.chmod(0o666)
            minor += 1
    return None


def running(settings: Settings, node: Node) -> int | None:
    """The pid of the node's slurmd."""
    return processes.daemon(settings.root, role(node))


def start(settings: Settings, node: Node) -> None:
    """Start its slurmd; what an earlier one left on the node (after a kill -9, say) is ended first."""
    if running(settings, node) is not None:
        return
    kill(settings, node)
    argv: list[str | Path] = ["slurmd", "-D", "-N", node.name]
    if settings.mode == "netns":
        network.node_up(settings, node)
        etc = settings.root / "etc"
        # nsenter, not `ip netns exec`: that remounts /sys and hides /sys/fs/cgroup from slurmd.
        # slave: what is mounted on the machine later is seen on the node, never the other way round.
        argv = [
            "nsenter",
            f"--net={network.NAMESPACES}/{settings.namespace(node)}",
            "unshare",
            "--uts",
            "--mount",
            "--propagation=slave",
            "--",
            HERE / "start-node.sh",
            node.name,
            etc / "hosts",
            etc / "resolv.conf",
        ]
    processes.start(settings.root, role(node), argv, settings.log(f"slurmd.{node.name}.out"), env=environment(settings))


def wait_until_idle(settings: Settings, names: list[str], seconds: float = 60) -> None:
    """Until Slurm has had an answer from each of them."""
    wanted = set(names)

    def all_answer() -> bool:
        for name in names:
            if running(settings, settings.node(name)) is None:
                log = settings.log(f"slurmd.{name}.out")
                raise Trouble(
                    Text(f"The slurmd of {name} ended at its start.", f"{name} 的 slurmd 启动后即退出。"),
                    Text.plain(f"{log}:\n{processes.last_lines(log)}"),
                )
        shown = slurm(settings, "scontrol", "-o", "show", "node").splitlines()
        started = {line.split()[0].removeprefix("NodeName=") for line in shown if "SlurmdStartTime=2" in line}
        ready = set(slurm(settings, "sinfo", "-h", "-N", "-r", "-t", "idle,mix,alloc", "-o", "%N").split())
        return wanted <= started & ready

    processes.wait_until(Text("A node", "节点"), all_answer, seconds, settings.log("slurmctld"))


def on_node(settings: Settings, node: Node) -> list[int]:
    """Every process of the node: those in its network namespace, those marked, their descendants, those in its jobs."""
    inode = network.namespace_inode(settings, node) if settings.mode == "netns" else None
    found = set(processes.marked(settings.root, role(node)))
    if settings.limits == "cgroup" and settings.mode != "netns":
        found |= set(cgroups.processes(node.name))
    parents: dict[int, list[int]] = {}
    for pid in processes.all_pids():
        try:
            if inode is not None and Path(f"/proc/{pid}/ns/net").stat().st_ino == inode:
                found.add(pid)
            words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if words[0] != "Z":
            parents.setdefault(int(words[1]), []).append(pid)
        else:
            found.discard(pid)
    heads = list(found)
    while heads:
        for child in parents.get(heads.pop(), []):
            if child not in found:
                found.add(child)
                heads.append(child)
    return sorted(found)


def kill(settings: Settings, node: Node) -> None:
    """Like a power cut: everything on the node ends. Repeated, since a process may fork while it is looked at."""
    for _ in range(20):
        found = on_node(settings, node)
        if not found:
            return
        processes.send(found, signal.SIGKILL)
        processes.wait_for_end(found, 5)


def fail(settings: Settings, node: Node) -> None:
    """A lost node: its cable first, so that no dying process says good-bye. (A dead slurmd alone leaves jobs alive.)"""
    if running(settings, node) is None:
        raise Trouble(Text(f"{node.name} is not running.", f"{node.name} 未在运行。"))
    if settings.mode == "netns":
        network.cut(settings, node)
    kill(settings, node)


def stop_all(settings: Settings) -> None:
    """End all slurmd, each in its own time but all at once, and then whatever they left on their nodes."""
    processes.stop([pid for node in settings.nodes if (pid := running(settings, node)) is not None], 10)
    for node in settings.nodes:
        kill(settings, node)
        if settings.mode == "netns":
            network.node_down(settings, node)


def execute(settings: Settings, node: Node, argv: list[str]) -> None:
    """Become a command on that node, as if one had logged in there; does not return."""
    pid = running(settings, node)
    if pid is None:
        raise Trouble(Text(f"{node.name} is not running.", f"{node.name} 未在运行。"))
    if settings.mode != "netns":
        os.execvp(argv[0], argv)
    os.execvp("nsenter", ["nsenter", f"--target={pid}", "--net", "--uts", "--mount", "--", *argv])
