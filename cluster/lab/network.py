"""A network for each node: a namespace with its own address on a bridge that has no way out.

Nothing is routed or translated; so nothing of a node reaches another part by localhost, as on a real cluster.
"""

import json
import os
from pathlib import Path

from cluster.lab.settings import Node, Settings
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

NAMESPACES = Path("/run/netns")


def label(settings: Settings) -> str:
    """What the bridge carries as its alias: whose it is."""
    return f"siflab {settings.root}"


def owner(link: str) -> str | None:
    """The alias of a link; None if there is no such link."""
    path = Path("/sys/class/net") / link
    try:
        return (path / "ifalias").read_text().strip() if path.exists() else None
    except OSError:
        return ""


def impossible() -> str | None:
    """Why namespaces with links cannot be made here, in the words of the program that failed; None if they can."""
    probe = f"siflab-probe{os.getpid()}"
    try:
        run(["ip", "netns", "add", probe])
        try:
            run(["ip", "-n", probe, "link", "add", "probe0", "type", "bridge"])
            run(["ip", "-n", probe, "link", "add", "probe1", "type", "veth", "peer", "name", "probe2"])
            run(["nsenter", f"--net={NAMESPACES}/{probe}", "unshare", "--uts", "--mount", "true"])
        finally:
            run(["ip", "netns", "del", probe], check=False)
    except Trouble as trouble:
        return trouble.message.en
    return None


def addresses() -> set[str]:
    """All IPv4 addresses of this machine."""
    links = json.loads(run(["ip", "-j", "-4", "address"]).stdout or "[]")
    return {entry["local"] for link in links for entry in link.get("addr_info", []) if "local" in entry}


def check_free(settings: Settings) -> None:
    """The bridge is ours or not there, and its address is nobody's."""
    has = owner(settings.bridge)
    if has and has != label(settings):
        raise Trouble(
            Text(f"The network {settings.bridge} belongs to {has}.", f"网络 {settings.bridge} 属于 {has}。"),
            Text("Choose another number (--network).", "请用 --network 另选一个编号。"),
        )
    if has is None and settings.head_address in addresses():
        raise Trouble(
            Text(
                f"The address {settings.head_address} is in use on this machine.",
                f"地址 {settings.head_address} 在本机已被使用。",
            ),
            Text("Choose another number (--network).", "请用 --network 另选一个编号。"),
        )


def bridge_up(settings: Settings) -> None:
    check_free(settings)
    if owner(settings.bridge) is None:
        # A start cut off between the two leaves a bridge of our name without an owner: `check_free` lets it pass.
        run(["ip", "link", "add", settings.bridge, "type", "bridge"])
    run(["ip", "link", "set", settings.bridge, "alias", label(settings)])
    if settings.head_address not in addresses():
        run(["ip", "address", "add", f"{settings.head_address}/24", "dev", settings.bridge])
    run(["ip", "link", "set", settings.bridge, "up"])


def filtered(settings: Settings) -> Text | None:
    """A warning where a firewall (Docker's, mostly) drops what one node sends to another."""
    switch = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    if not switch.exists() or switch.read_text().strip() != "1":
        return None
    try:
        policy = run(["iptables", "-S", "FORWARD"], check=False).stdout
    except Trouble:
        return None
    if "-P FORWARD DROP" not in policy:
        return None
    cure = f"iptables -I FORWARD -i {settings.bridge} -o {settings.bridge} -j ACCEPT"
    return Text(
        f"The firewall drops what bridges forward, so nodes may not reach each other. Allow it: {cure}",
        f"防火墙会丢弃网桥转发的数据，节点之间可能无法通信。可执行：{cure}",
    )


def node_up(settings: Settings, node: Node) -> None:
    """The node's namespace and its link; what a cut-off start left is made whole."""
    namespace, link = settings.namespace(node), settings.veth(node)
    name = NAMESPACES / namespace
    if name.exists() and name.stat().st_dev == NAMESPACES.stat().st_dev:
        name.unlink()  # a name without a namespace: nothing is mounted on it any more
    if not name.exists():
        run(["ip", "netns", "add", namespace])
    if owner(link) is None:
        run(["ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", namespace])
    inside = run(["ip", "-n", namespace, "-j", "-4", "address", "show", "dev", "eth0"], check=False).stdout
    if settings.address(node) not in inside:
        run(["ip", "-n", namespace, "address", "add", f"{settings.address(node)}/24", "dev", "eth0"])
    run(["ip", "link", "set", link, "master", settings.bridge])
    run(["ip", "-n", namespace, "link", "set", "lo", "up"])
    run(["ip", "-n", namespace, "link", "set", "eth0", "up"])
    run(["ip", "link", "set", link, "up"])


def cut(settings: Settings, node: Node) -> None:
    """Pull the node's cable."""
    if owner(settings.veth(node)) is not None:
        run(["ip", "link", "set", settings.veth(node), "down"])


def node_down(settings: Settings, node: Node) -> None:
    if owner(settings.veth(node)) is not None:
        run(["ip", "link", "del", settings.veth(node)], check=False)
    if (NAMESPACES / settings.namespace(node)).exists():
        run(["ip", "netns", "del", settings.namespace(node)], check=False)


def bridge_down(settings: Settings) -> None:
    if owner(settings.bridge) in ("", label(settings)):
        run(["ip", "link", "del", settings.bridge])


def namespace_inode(settings: Settings, node: Node) -> int | None:
    """By which /proc/PID/ns/net shows that a process is on this node."""
    try:
        return (NAMESPACES / settings.namespace(node)).stat().st_ino
    except OSError:
        return None
