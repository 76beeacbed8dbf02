"""What one cluster is: folder, ports, addresses, nodes and people. `up` writes it down for the other commands."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from cluster.lab.trouble import Trouble
from siflab.text import Text

DEFAULT_NODES = (
    "gpu01:32:256000:a100:4",
    "gpu02:32:256000:a100:4",
    "gpu03:16:128000:v100:2",
    "cpu01:64:256000:-:0",
)


@dataclass(frozen=True)
class Node:
    """One compute node as Slurm is told of it; processors, memory and GPUs are claims, not this machine's own."""

    name: str
    cpus: int
    memory_mib: int
    gpu_type: str | None
    gpus: int

    @classmethod
    def defaults(cls, prefix: str = "") -> "tuple[Node, ...]":
        """Those of every cluster that is not asked for others; the demo's and the tests' too."""
        return tuple(cls.parse(f"{prefix}{text}") for text in DEFAULT_NODES)

    @classmethod
    def parse(cls, text: str) -> "Node":
        """``name:cpus:MiB:gpu type:gpus``; type ``-`` and 0 for a node without GPUs."""
        try:
            name, cpus, memory, gpu_type, gpus = text.split(":")
            return cls(name, int(cpus), int(memory), None if gpu_type == "-" else gpu_type, int(gpus))
        except ValueError:
            raise Trouble(
                Text(
                    f"The node {text!r} is not of the form name:cpus:MiB:gpu-type:gpus (gpu01:32:256000:a100:4).",
                    f"节点 {text!r} 写法不对，应为 名称:CPU 数:内存 MiB:GPU 类型:GPU 数（gpu01:32:256000:a100:4）。",
                )
            ) from None


@dataclass(frozen=True)
class Member:
    """A person of the cluster and the accounts that may be charged; the first is the default."""

    name: str
    accounts: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "Member":
        """``name`` or ``name:account,account``; without accounts: research, and the course."""
        name, _, accounts = text.partition(":")
        return cls(name, tuple(accounts.split(",")) if accounts else ("research", "cs101"))


@dataclass(frozen=True)
class Settings:
    """One cluster. Two run side by side when root, name, port base, network number and node names all differ.

    `mode`: ``netns`` (each node in a network namespace with an address on a bridge) or ``loopback`` (127.0.x.y
    addresses, no namespaces); `limits`: ``cgroup`` (v1 confines jobs to their memory and devices) or ``none``. ``auto``
    in either is settled by `up`.
    """

    root: Path
    name: str = "lab"
    port_base: int = 27400
    network: int = 40
    nodes: tuple[Node, ...] = tuple(Node.parse(text) for text in DEFAULT_NODES)
    members: tuple[Member, ...] = ()
    mode: str = "auto"
    limits: str = "auto"

    # Ports; a slurmd has its own one where all nodes share one network namespace.
    @property
    def ctld_port(self) -> int:
        return self.port_base + 17

    @property
    def dbd_port(self) -> int:
        return self.port_base + 19

    @property
    def database_port(self) -> int:
        return self.port_base + 6

    def slurmd_port(self, node: Node) -> int:
        return self.port_base + 21 + (0 if self.mode == "netns" else self.nodes.index(node))

    # Addresses
    @property
    def prefix(self) -> str:
        return f"10.77.{self.network}" if self.mode == "netns" else f"127.0.{self.network}"

    @property
    def head_address(self) -> str:
        """Where slurmctld, slurmdbd and the Hub's API are reached from the nodes: the bridge."""
        return f"{self.prefix}.1"

    def address(self, node: Node) -> str:
        return f"{self.prefix}.{11 + self.nodes.index(node)}"

    @property
    def bridge(self) -> str:
        return f"siflab{self.network}"

    def veth(self, node: Node) -> str:
        return f"sifl{self.network}-{self.nodes.index(node)}"

    def namespace(self, node: Node) -> str:
        return f"siflab{self.network}-{node.name}"

    # Folders and files
    @property
    def conf(self) -> Path:
        """What SLURM_CONF has to be."""
        return self.root / "etc" / "slurm.conf"

    @property
    def munge_socket(self) -> Path:
        return self.root / "munge" / "run" / "munge.socket"

    def log(self, name: str) -> Path:
        return self.root / "log" / f"{name}.log"

    def node(self, name: str) -> Node:
        for node in self.nodes:
            if node.name == name:
                return node
        names = ", ".join(node.name for node in self.nodes)
        raise Trouble(Text(f"There is no node {name}; there are {names}.", f"没有节点 {name}；现有：{names}。"))

    # Kept in the root folder, so that every later command knows what `up` made
    def save(self) -> None:
        (self.root / "etc").mkdir(parents=True, exist_ok=True)
        kept = {**asdict(self), "root": str(self.root)}
        target = self.root / "etc" / "settings.json"
        fresh = target.with_suffix(".new")
        fresh.write_text(json.dumps(kept, indent=1) + "\n")
        fresh.replace(target)


def kept_settings(root: Path) -> Settings | None:
    """What `up` wrote into `root`; None if no cluster was ever made there (or its making was cut off before that)."""
    try:
        kept = json.loads((root / "etc" / "settings.json").read_text())
        return Settings(
            **{
                **kept,
                "root": root,
                "nodes": tuple(Node(**node) for node in kept["nodes"]),
                "members": tuple(Member(m["name"], tuple(m["accounts"])) for m in kept["members"]),
            }
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def settings_from(root: Path, given: Mapping[str, str | None]) -> Settings:
    """The settings that options or the environment give; what they leave open has the defaults above."""
    default = Settings(root=root.absolute())
    settings = replace(
        default,
        name=given.get("name") or default.name,
        port_base=int(given.get("port_base") or default.port_base),
        network=int(given.get("network") or default.network),
        mode=given.get("mode") or default.mode,
        limits=given.get("limits") or default.limits,
    )
    if given.get("nodes"):
        settings = replace(settings, nodes=tuple(Node.parse(text) for text in str(given["nodes"]).split()))
    if given.get("users") is not None:
        settings = replace(settings, members=tuple(Member.parse(text) for text in str(given["users"]).split()))
    return settings
