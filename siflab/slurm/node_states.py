"""The state of a node in one word and in a sentence. Source: sinfo(1) NODE STATE CODES, scontrol(1) show node."""

from dataclasses import dataclass
from typing import Literal

from siflab.slurm.scontrol import Node, Reservation
from siflab.text import Text

NodeWord = Literal["idle", "mixed", "allocated", "down", "drain", "maint", "reserved", "unknown"]

_DOWN = {
    "DOWN",
    "ERROR",
    "FAIL",
    "FAILING",
    "NOT_RESPONDING",
    "NO_RESPOND",
    "INVALID",
    "INVALID_REG",
    "FUTURE",
    "BLOCKED",
}
_DRAIN = {"DRAIN", "DRAINED", "DRAINING", "REBOOT_REQUESTED", "REBOOT_ISSUED", "REBOOT"}
_BASE: dict[str, tuple[NodeWord, str, str]] = {
    "IDLE": ("idle", "free", "空闲"),
    "MIXED": ("mixed", "partly in use", "部分占用"),
    "ALLOCATED": ("allocated", "fully in use", "已占满"),
    "COMPLETING": ("mixed", "its last job is ending", "上一个作业正在结束"),
}
_WORDS: dict[NodeWord, Text] = {
    "down": Text("down: it takes no jobs", "停机：不接受作业"),
    "drain": Text("drained: it takes no new jobs", "已排空：不接受新作业"),
    "maint": Text("reserved for maintenance", "为维护预留"),
    "reserved": Text("reserved", "已被预约"),
    "unknown": Text("Slurm does not know its state", "Slurm 不知道其状态"),
}


@dataclass(frozen=True)
class NodeState:
    """`is_up`: it takes jobs, be it only those of `reservation` (empty: anyone's)."""

    name: NodeWord
    words: Text
    is_up: bool
    reservation: str = ""

    @property
    def is_open(self) -> bool:
        """It takes anyone's jobs."""
        return self.is_up and not self.reservation


def node_state(node: Node, reservation: Reservation | None) -> NodeState:
    """`reservation` is the one that has the node now."""
    flags = set(node.states)
    if flags & _DOWN:
        return NodeState("down", _because("down", node), is_up=False)
    if flags & _DRAIN:
        return NodeState("drain", _because("drain", node), is_up=False)
    name = reservation.name if reservation else node.reservation
    if flags & {"MAINT", "MAINTENANCE"} or (reservation and "MAINT" in reservation.flags):
        return NodeState("maint", _until("maint", name, reservation), True, name or "?")
    if "RESERVED" in flags or name:
        return NodeState("reserved", _until("reserved", name, reservation), True, name or "?")
    base = next((state for state in node.states if state in _BASE), "")
    if not base:
        return NodeState("unknown", _WORDS["unknown"], is_up=False)
    word, en, zh = _BASE[base]
    return NodeState(word, Text(en, zh), is_up=True)


def _because(name: NodeWord, node: Node) -> Text:
    words = _WORDS[name]
    return Text(f"{words.en} ({node.reason})", f"{words.zh}（{node.reason}）") if node.reason else words


def _until(word: NodeWord, name: str, reservation: Reservation | None) -> Text:
    words = _WORDS[word]
    shown = f" ({name})" if name else ""
    until = reservation.end if reservation else None
    if until is None:
        return Text(f"{words.en}{shown}", f"{words.zh}{shown}")
    moment = f"{until:%Y-%m-%d %H:%M}"
    return Text(f"{words.en} until {moment}{shown}", f"{words.zh}，至 {moment}{shown}")
