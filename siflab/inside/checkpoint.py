"""``from siflab import checkpoint`` in a notebook: save its state so that another attempt can go on from it.

The folder ($CHECKPOINT_DIR) is the same over all attempts of a run; in a session it is ``./checkpoints``::

    state = checkpoint.restore(model=model, optimizer=optimizer) or {"epoch": -1}
    for epoch in range(state["epoch"] + 1, epochs):
        ...
        checkpoint.save(epoch=epoch, model=model, optimizer=optimizer, rng=True)
        if checkpoint.should_stop():
            break

Without torch, of anything that pickle takes: ``checkpoint.save(state, step=3)``, ``state = checkpoint.load()``. Under
torch.distributed every rank calls ``save``, ``restore`` and ``should_stop``."""

from __future__ import annotations

import errno
import os
import pickle
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import checkpoint_state as parts
from .checkpoint_files import Torn, atomic, check, folder, path_of, prune, rank_path, saved, step_of, sweep, write
from .record import current_attempt

__all__ = ["atomic", "folder", "load", "on_stop", "restore", "save", "saved", "should_stop", "stop_requested"]

_FULL = (errno.ENOSPC, errno.EDQUOT)
_hooks: list[Callable[[], object]] = []
_swept = False


def save(
    state: Any = None,
    step: int | None = None,
    keep: int = 3,
    *,
    model: Any = None,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    sampler: Any = None,
    rng: bool = False,
    epoch: int | None = None,
    **more: Any,
) -> Path:
    """Save the checkpoint of `step` (the epoch if None, else one more than the newest) and remove all but the newest
    `keep`; its path. It is whole and on the disk when this returns, or was never there.

    Of `model`, `optimizer`, `scheduler`, `scaler` and of each of `more` that has a ``state_dict()`` that is saved (of a
    list of them, each's; of a model in DistributedDataParallel or torch.compile, the model's own), anything else as it
    is. `rng`: the random number generators, of each rank its own. `state`: a dict of values besides, or alone a value
    of any kind. With torch imported it is ``torch.save``'s file, else pickle's.

    Rank 0 writes and the others wait for it. Raises OSError (a full disk: older checkpoints are given up first), and
    what pickle raises; then the older checkpoints are as they were."""
    global _swept
    named = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler}
    given = {name: part for name, part in {**named, **more}.items() if part is not None or name in more}
    if sampler is not None:
        given["sampler"] = parts.sampler_state(sampler)
    if epoch is not None:
        given["epoch"] = int(epoch)
    if step is None:
        step = epoch if epoch is not None else max([step_of(path) for path in saved()], default=-1) + 1
    rank, world = parts.rank_and_world()
    path = path_of(step)
    if not _swept:
        sweep(None if rank == 0 else rank)
        _swept = True
    if rank == 0:
        _write(path, _content(state, step, given, rng), keep)
    elif rng:
        _write(rank_path(path, rank), {"rng": parts.rng_state()}, keep)
    if world > 1:
        parts.wait_for_all()
    if rank == 0:
        prune(keep)
    _tell("saved")
    return path


def _content(state: Any, step: int, given: dict[str, Any], rng: bool) -> Any:
    if not given and not rng and state is not None:
        return state
    if state is not None and not isinstance(state, dict):
        raise TypeError(
            f"save(state, ..., model=...): beside other parts the state is a dict, not {type(state).__name__}"
        )
    content = {**(state or {}), "step": int(step), **{name: parts.state_of(part) for name, part in given.items()}}
    return {**content, "rng": parts.rng_state()} if rng else content


def _write(path: Path, content: Any, keep: int) -> None:
    torch = sys.modules.get("torch")
    if torch is None:
        plain = False

        def write_content(file: Any) -> None:
            pickle.dump(content, file, protocol=pickle.HIGHEST_PROTOCOL)
    else:
        content, plain = parts.as_plain(content)

        def write_content(file: Any) -> None:
            torch.save(content, file)

    try:
        write(path, plain, write_content)
    except (OSError, RuntimeError) as error:  # torch's writer hides the former in the latter
        if not _is_full(error) or not prune(1):
            raise
        _say(f"the disk is full: older checkpoints than {saved()[-1].name} were removed to make room")
        write(path, plain, write_content)


def _is_full(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _FULL:
            return True
        error = error.__cause__ or error.__context__
    return False


def load(map_location: Any = "cpu", weights_only: bool | None = None) -> Any | None:
    """What the newest checkpoint holds that is whole, None without any. One that is not is passed over, aloud.

    A file of torch is read with ``weights_only=True`` (tensors and plain values, no code); one that was saved with
    other objects in it, or without torch, is unpickled, which runs what its writer put in it: `weights_only` refuses
    that."""
    found = _newest(map_location, weights_only)
    return None if found is None else found[1]


def restore(
    *,
    model: Any = None,
    optimizer: Any = None,
    scheduler: Any = None,
    scaler: Any = None,
    sampler: Any = None,
    rng: bool = True,
    map_location: Any = "cpu",
    weights_only: bool | None = None,
    **more: Any,
) -> dict[str, Any] | None:
    """Load the newest whole checkpoint into these parts; all that it holds (``step``, ``epoch``, ...), None without
    any. `rng`: the random number generators too, if they were saved. Raises KeyError for a part that it does not
    hold."""
    found = _newest(map_location, weights_only)
    if found is None:
        return None
    path, content = found
    if not isinstance(content, dict):
        raise TypeError(f"{path.name} holds a {type(content).__name__}, not parts by name: use load()")
    named = {"model": model, "optimizer": optimizer, "scheduler": scheduler, "scaler": scaler, **more}
    given = {name: part for name, part in named.items() if part is not None}
    for name in [*given, *(["sampler"] if sampler is not None else [])]:
        if name not in content:
            raise KeyError(f"{path.name} holds no {name!r}; it holds {', '.join(sorted(map(str, content)))}")
    for name, part in given.items():
        parts.put_back(part, content[name])
    if sampler is not None:
        parts.put_back_sampler(sampler, content["sampler"])
    if rng and "rng" in content:
        _put_back_rng(path, content["rng"], weights_only)
    return content


def _put_back_rng(path: Path, of_rank_0: dict[str, Any], weights_only: bool | None) -> None:
    rank, _ = parts.rank_and_world()
    if rank == 0:
        parts.put_back_rng(of_rank_0)
        return
    try:
        parts.put_back_rng(_read(rank_path(path, rank), "cpu", weights_only)["rng"])
    except Exception as error:
        _say(f"the random numbers of rank {rank} begin anew: {rank_path(path, rank).name}: {error}")


def _newest(map_location: Any, weights_only: bool | None) -> tuple[Path, Any] | None:
    for path in reversed(saved()):
        try:
            return path, _read(path, map_location, weights_only)
        except Exception as error:
            _say(f"checkpoint {path.name} is passed over: {type(error).__name__}: {error}")
    return None


def _read(path: Path, map_location: Any, weights_only: bool | None) -> Any:
    plain = check(path)
    with path.open("rb") as file:
        if file.read(4) != b"PK\x03\x04":
            if weights_only:
                raise Torn("it is a pickle, which weights_only refuses")
            file.seek(0)
            return pickle.load(file)
    import torch

    only = plain or bool(weights_only)
    return parts.from_plain(torch.load(path, map_location=map_location, weights_only=only))


def should_stop() -> bool:
    """Whether the run was asked to end soon (the warning before the time limit, a cancellation, a preemption).

    A notebook that asks at least once gets time to end its cell by itself (`signals.StopRequest.grace`); one that
    never asks is interrupted at once. Always False outside of a run. Under torch.distributed all ranks must ask, and
    all get the same answer."""
    attempt = current_attempt()
    asked = False
    if attempt is not None:
        with suppress(OSError):
            if not attempt.heeds_stop.exists():
                attempt.heeds_stop.touch()
        asked = attempt.stop.exists()
    asked = parts.any_rank_says(asked)
    if asked:
        _tell("seen")
    return asked


stop_requested = should_stop


def on_stop(function: Callable[[], object]) -> Callable[[], object]:
    """A decorator: call `function` when the run is asked to stop, after the running cell has ended (by itself if it
    looks at `should_stop`, else by KeyboardInterrupt), in the kernel's main thread. A function of the same name, such
    as that of a cell that ran again, takes the place of the earlier one."""
    _hooks[:] = [hook for hook in _hooks if _name(hook) != _name(function)]
    _hooks.append(function)
    _tell("hook", always=True)
    return function


def _name(function: Any) -> tuple[str, str]:
    return (str(getattr(function, "__module__", "")), str(getattr(function, "__qualname__", id(function))))


def run_stop_hooks() -> bool:
    """Call what `on_stop` was given, the newest first; whether all went well. An error is printed, and does not keep
    the others from being called."""
    well = True
    for hook in reversed(_hooks):
        try:
            hook()
        except Exception:
            traceback.print_exc()
            well = False
    if _hooks and well:
        _tell("saved")
    return well


def _tell(word: str, always: bool = False) -> None:
    """To the runner: what was done since the stop was asked for (`stopping.Answers`)."""
    attempt = current_attempt()
    if attempt is None or not (always or attempt.stop.exists()):
        return
    with suppress(OSError):
        descriptor = os.open(attempt.stop_answers, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"{word}\n".encode())
        finally:
            os.close(descriptor)


def _say(text: str) -> None:
    print(f"siflab: {text}", file=sys.stderr)
