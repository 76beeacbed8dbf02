"""Generic resources as Slurm prints them.

Seen between 22.05 and 24.11: ``gpu:a100:4``, ``gpu:a100:4(S:0-1)``, ``gpu:a100:2(IDX:0-1)``, ``gres:gpu:2``,
``gres/gpu:a100=2``, ``gres/gpu:2``, ``gpu:0``, ``(null)``, ``N/A``.
"""

import re
from dataclasses import dataclass
from typing import Literal

SHARD = "shard"
"""The generic resource that is a part of a GPU (Slurm's sharding); also its name as a `gpu_type` in site.yaml."""
_PARENTHESIS = re.compile(r"\([^()]*\)")
_MIG = re.compile(r"(?:^|[_.-])\d{1,2}g\.\d{1,4}gb|^mig(?![a-z])|[_.-]mig(?:$|[_.-])", re.ASCII | re.IGNORECASE)
_PER_GPU = re.compile(r"(\d{1,9})/(\d{1,9})", re.ASCII)
_COUNT = re.compile(r"(\d{1,9})([KMGT]?)", re.ASCII)
_FACTOR = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


GpuKind = Literal["gpu", "mig", "shard"]


@dataclass(frozen=True)
class Gres:
    """`count` units of the generic resource `name`; `type` is empty where Slurm names none."""

    name: str
    type: str
    count: int

    @property
    def gpu_kind(self) -> GpuKind | None:
        """A whole GPU, a MIG slice (to Slurm that is a type, by default named by card and profile: ``a100_1g.5gb``), or
        a part of a GPU; None for what is no GPU."""
        if self.name == SHARD:
            return "shard"
        if self.name != "gpu":
            return None
        return "mig" if _MIG.search(self.type) else "gpu"


def parse_gres(text: str) -> list[Gres]:
    """The records of one gres field. What cannot be read as one is left out: a field may hold other plugins' words."""
    records = []
    for part in _PARENTHESIS.sub("", text).split(","):
        part = part.strip()
        for prefix in ("gres:", "gres/"):
            part = part.removeprefix(prefix)
        words = part.replace("=", ":").split(":")
        if not words[0] or words[0].upper() in ("N/A", "NONE"):
            continue
        match = _COUNT.fullmatch(words[-1])
        if match and len(words) > 1:
            count, kind = int(match[1]) * _FACTOR[match[2]], words[1:-1]
        else:
            count, kind = 1, words[1:]
        records.append(Gres(words[0], ":".join(kind), count))
    return records


def gpu_count(text: str) -> int:
    """GPUs in one gres field, all types together."""
    return sum(record.count for record in parse_gres(text) if record.name == "gpu")


def gpus_in_parts(text: str) -> int:
    """GPUs of which parts are in use, from GresUsed: ``shard:a100:3(2/4,1/4,0/4)`` are two, which no job gets whole."""
    found = 0
    for words in re.findall(r"\bshard:[^()]{0,128}\(([^()]*)\)", text):
        found += sum(int(used) > 0 for used, _ in _PER_GPU.findall(words))
    return found
