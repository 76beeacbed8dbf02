"""By which address the Hub and its proxy reach a node. It comes from Slurm, never from the job."""

import re

from siflab.config import Site
from siflab.errors import SlurmUnreachable
from siflab.slurm.execute import Slurm
from siflab.text import Text

_known: dict[tuple[str, str], str] = {}


async def node_address(slurm: Slurm, site: Site, name: str) -> str:
    """NodeAddr, NodeHostName or NodeName of a node, as `slurm.node_address` says. Raises SlurmUnreachable."""
    if site.slurm.node_address == "NodeName":
        return name
    key = (site.slurm.node_address, name)
    if key not in _known:
        done = await slurm.arun(["scontrol", "--oneliner", "show", "node", name])
        match = re.search(rf"\b{site.slurm.node_address}=(\S+)", done.stdout) if done.ok else None
        if match is None:
            raise SlurmUnreachable(
                Text(f"Slurm does not say the address of node {name}", f"Slurm 未给出节点 {name} 的地址")
            )
        _known[key] = match[1]
    return _known[key]


def forget_addresses() -> None:
    """Addresses may change with slurm.conf; called when a session cannot be reached."""
    _known.clear()
