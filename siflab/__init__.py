"""Siflab: Jupyter sessions and notebook runs on Slurm, inside Singularity images.

``run = siflab.promote("train.ipynb", gpus=4)`` submits a run from Python (see `siflab.api`).

In a notebook ``siflab.record(loss=...)`` and ``siflab.checkpoint`` belong to its run; both are there in any image,
since a run's archive carries this file and `siflab.inside` (so that this file may need nothing but the standard
library)."""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """What this module offers, imported when it is asked for (PEP 562)."""
    if name == "record":
        from siflab.inside.record import record

        return record
    if name == "checkpoint":
        from siflab.inside import checkpoint

        return checkpoint
    if name in ("Run", "RunFailed", "get_run", "list_runs", "promote"):
        try:
            from siflab import api
        except ImportError as error:  # the archive of a run has no more than it needs
            raise AttributeError(f"siflab.{name} needs Siflab to be installed here ({error})") from error
        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
