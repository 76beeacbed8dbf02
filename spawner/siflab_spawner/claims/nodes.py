"""By which address the Hub and its proxy reach a node. It comes from Slurm, never from the job."""

import re
import time

from siflab.config import Site
from siflab.errors import SlurmUnreachable
from siflab.slurm.execute import Slurm
from siflab.text import Text

_KEPT = 300.0  # seconds; an address changes with slurm.conf
_known: dict[tuple[str, str], tuple[float, str]] = {}


async def node_address(slurm: Slurm, site: Site, name: str) -> str:
    """NodeAddr, NodeHostName or NodeName of a node, as `slurm.node_address` says. Raises SlurmUnreachable."""
    if site.slurm.node_address == "NodeName":
        return name
    key = (site.slurm.node_address, name)
    if key not in _known or time.monotonic() - _known[key][0] > _KEPT:
        done = await slurm.arun(["scontrol", "--oneliner", "show", "node", name])
        match = re.search(rf"\b{site.slurm.node_address}=(\S+)", done.stdout) if done.ok else None
        if match is None:
            raise SlurmUnreachable(
                Text(f"Slurm does not say the address of node {name}", f"Slurm 未给出节点 {name} 的地址")
            )
        _known[key] = (time.monotonic(), match[1])
    return _known[key][1]


def server_url(host: str, port: int, tls: bool = False) -> str:
    """The URL of a server on a node; an IPv6 address stands in brackets (RFC 3986, 3.2.2)."""
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}" if ":" in host else f"{scheme}://{host}:{port}"
