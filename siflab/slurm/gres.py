"""Generic resources as Slurm prints them.

Seen between 22.05 and 24.11: ``gpu:a100:4``, ``gpu:a100:4(S:0-1)``, ``gpu:a100:2(IDX:0-1)``, ``gres:gpu:2``,
``gres/gpu:a100=2``, ``gres/gpu:2``, ``gpu:0``, ``(null)``, ``N/A``.
"""

import re
from dataclasses import dataclass

SHARD = "shard"
"""The generic resource that is a part of a GPU (Slurm's sharding); also its name as a `gpu_type` in site.yaml."""
_PARENTHESIS = re.compile(r"\([^()]*\)")
_COUNT = re.compile(r"(\d{1,9})([KMGT]?)", re.ASCII)
_FACTOR = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}


@dataclass(frozen=True)
class Gres:
    """`count` units of the generic resource `name`; `type` is empty where Slurm names none."""

    name: str
    type: str
    count: int


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
