"""Slurm's notation of memory: a number with K, M, G or T; without a letter it is MiB (sbatch(1), --mem)."""

import re

_MEMORY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s*([KMGT]?)(?:I?B)?", re.IGNORECASE | re.ASCII)
_MIB = {"K": 1 / 1024, "": 1, "M": 1, "G": 1024, "T": 1024 * 1024}


def parse_memory(text: str) -> int:
    """MiB, rounded up. Takes ``16G``, ``16GiB``, ``1.5T``, ``1500``. Raises ValueError."""
    match = _MEMORY.fullmatch(text.strip())
    if not match:
        raise ValueError(f"not an amount of memory (such as 16G or 1500M): {text!r}")
    exact = float(match[1]) * _MIB[match[2].upper()]
    return int(-(-exact // 1))


def format_memory(mib: int) -> str:
    """The shortest exact form: ``16G``, ``1500M``."""
    if mib and mib % (1024 * 1024) == 0:
        return f"{mib // (1024 * 1024)}T"
    if mib and mib % 1024 == 0:
        return f"{mib // 1024}G"
    return f"{mib}M"
