"""Siflab: Jupyter sessions and notebook runs on Slurm, inside Singularity images.

In a notebook ``siflab.record(loss=...)`` and ``siflab.checkpoint`` belong to its run; both are there in any image,
since a run's archive carries this file and `siflab.inside` (so that this file may need nothing but the standard
library)."""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`record` and `checkpoint`, imported when they are asked for (PEP 562)."""
    if name == "record":
        from siflab.inside.record import record

        return record
    if name == "checkpoint":
        from siflab.inside import checkpoint

        return checkpoint
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
