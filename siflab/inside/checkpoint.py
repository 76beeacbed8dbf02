"""``from siflab import checkpoint`` in a notebook: save its state so that another attempt can go on from it.

The folder is the same over all attempts of a run; in a session it is ``./checkpoints``. A file is whole or absent::

    state = checkpoint.load() or {"epoch": 0}
    for epoch in range(state["epoch"], epochs):
        ...
        checkpoint.save({"epoch": epoch + 1, "model": model.state_dict()}, step=epoch)
        if checkpoint.stop_requested():
            break
"""

from __future__ import annotations

import os
import pickle
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .record import current_attempt

_NAME = re.compile(r"step-(\d{10,})\.ckpt")


def folder() -> Path:
    """$CHECKPOINT_DIR, made if it is not there; ``./checkpoints`` where it is not set."""
    path = Path(os.environ.get("CHECKPOINT_DIR") or "checkpoints")
    path.mkdir(parents=True, exist_ok=True)
    return path


@contextmanager
def atomic(path: Path | str) -> Iterator[Path]:
    """A path to write to; it becomes `path`, as a whole, when the block ends without an error."""
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        yield beside
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise


def save(state: Any, step: int, keep: int = 3) -> Path:
    """Save `state` as the checkpoint of `step` and remove all but the newest `keep`; its path.

    With torch imported by ``torch.save``, else by pickle.
    """
    path = folder() / f"step-{step:010d}.ckpt"
    with atomic(path) as beside:
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.save(state, beside)
        else:
            with beside.open("wb") as file:
                pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)
    for old in saved()[: -max(keep, 1)]:
        with suppress(OSError):
            old.unlink()
    return path


def saved() -> list[Path]:
    """The checkpoints that are there, the oldest step first."""
    return sorted((path for path in folder().iterdir() if _NAME.fullmatch(path.name)), key=lambda path: path.name)


def load(map_location: Any = "cpu") -> Any | None:
    """The state of the newest checkpoint that can be read, None without any. One that cannot is passed over, aloud.

    A file of torch is loaded with ``weights_only=True`` (tensors and plain values, no code); one of pickle as pickle:
    read only what you wrote yourself."""
    for path in reversed(saved()):
        try:
            return _read(path, map_location)
        except Exception as error:
            print(f"siflab: checkpoint {path.name} is passed over: {type(error).__name__}: {error}", file=sys.stderr)
    return None


def _read(path: Path, map_location: Any) -> Any:
    if zipfile.is_zipfile(path):
        import torch

        return torch.load(path, map_location=map_location, weights_only=True)
    with path.open("rb") as file:
        return pickle.load(file)


def stop_requested() -> bool:
    """Whether the run was asked to end soon (the warning before the time limit, a cancellation, a preemption).

    A notebook that asks at least once gets some seconds to end its cell by itself (`signals.GRACE`); one that never
    asks is interrupted at once. Always False outside of a run."""
    attempt = current_attempt()
    if attempt is None:
        return False
    with suppress(OSError):
        if not attempt.heeds_stop.exists():
            attempt.heeds_stop.touch()
    return attempt.stop.exists()
