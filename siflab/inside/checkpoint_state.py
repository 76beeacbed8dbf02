"""What is in a checkpoint: the states of a training's parts as tensors and plain values, which ``torch.load`` reads
with ``weights_only=True``. Uses torch and numpy where the notebook has imported them, and needs neither."""

from __future__ import annotations

import os
import random
import sys
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

_NUMPY = "__numpy__"
_PLAIN = (type(None), bool, int, float, str, bytes)
_WRAPPERS = ("DistributedDataParallel", "DataParallel")


def state_of(value: Any) -> Any:
    """A part's ``state_dict()``, of each where it is a list of parts; any other value as it is."""
    if isinstance(value, (list, tuple)) and value and all(_has_state(item) for item in value):
        return [state_of(item) for item in value]
    if _has_state(value):
        return unwrapped(value).state_dict()
    return value


def _has_state(value: Any) -> bool:
    return callable(getattr(value, "state_dict", None)) and callable(getattr(value, "load_state_dict", None))


def unwrapped(value: Any) -> Any:
    """The module within DistributedDataParallel, DataParallel or ``torch.compile``, so that a checkpoint fits the next
    attempt however it wraps its model."""
    while True:
        if type(value).__name__ in _WRAPPERS and hasattr(value, "module"):
            value = value.module
        elif hasattr(value, "_orig_mod"):
            value = value._orig_mod
        else:
            return value


def put_back(part: Any, state: Any) -> None:
    """Load a part's state, or each of a list of parts; ValueError when their numbers differ."""
    if isinstance(part, (list, tuple)):
        if not isinstance(state, list) or len(state) != len(part):
            raise ValueError("the checkpoint was saved with another number of them")
        for each, its_state in zip(part, state):  # noqa: B905 (Python 3.9)
            put_back(each, its_state)
        return
    unwrapped(part).load_state_dict(state)


def sampler_state(sampler: Any) -> Any:
    """Its own state where it has one; else the epoch of ``set_epoch`` (DistributedSampler)."""
    return sampler.state_dict() if _has_state(sampler) else {"epoch": int(getattr(sampler, "epoch", 0))}


def put_back_sampler(sampler: Any, state: Any) -> None:
    if _has_state(sampler):
        sampler.load_state_dict(state)
    elif hasattr(sampler, "set_epoch"):
        sampler.set_epoch(state["epoch"])


def rng_state() -> dict[str, Any]:
    """The random number generators of Python, numpy and torch (CPU, and the GPUs that this process uses)."""
    state: dict[str, Any] = {"python": random.getstate()}
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None:
        name, keys, position, has_gauss, cached = numpy.random.get_state()
        state["numpy"] = [str(name), keys.tolist(), int(position), int(has_gauss), float(cached)]
    if torch is not None:
        state["torch"] = torch.get_rng_state()
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            own = [torch.cuda.current_device()] if rank_and_world()[1] > 1 else range(torch.cuda.device_count())
            state["cuda"] = {device: torch.cuda.get_rng_state(device) for device in own}
    return state


def put_back_rng(state: Mapping[str, Any]) -> None:
    version, values, gauss = state["python"]
    random.setstate((version, tuple(values), gauss))
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy is not None and "numpy" in state:
        name, keys, *rest = state["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), *rest))
    if torch is not None and "torch" in state:
        torch.set_rng_state(state["torch"].cpu())
        here = torch.cuda.device_count() if torch.cuda.is_available() else 0
        moved = rank_and_world()[1] > 1  # the rank's own device, whichever it is now
        for device, value in state.get("cuda", {}).items():
            if moved or device < here:
                torch.cuda.set_rng_state(value.cpu(), torch.cuda.current_device() if moved else device)


def as_plain(value: Any) -> tuple[Any, bool]:
    """(value, whether it is tensors and plain values only). Arrays of numpy become marked tensors and its numbers
    Python's; what needs no change is the same object, so that nothing large is copied."""
    kind, torch, numpy = type(value), sys.modules.get("torch"), sys.modules.get("numpy")
    if kind in _PLAIN:
        return value, True
    if torch is not None and kind in (torch.Tensor, torch.nn.Parameter, torch.Size, torch.device, torch.dtype):
        return value, True
    if kind in (dict, OrderedDict):
        pairs = {key: as_plain(item) for key, item in value.items()}
        safe = all(whole for _, whole in pairs.values()) and all(type(key) in (str, int, float, bool) for key in pairs)
        if all(pairs[key][0] is item for key, item in value.items()):
            return value, safe
        return kind((key, item) for key, (item, _) in pairs.items()), safe
    if kind in (list, tuple):
        items = [as_plain(item) for item in value]
        safe = all(whole for _, whole in items)
        if all(new is old for (new, _), old in zip(items, value)):  # noqa: B905 (Python 3.9)
            return value, safe
        return kind(item for item, _ in items), safe
    if numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
        return value.item(), True
    if numpy is not None and torch is not None and kind is numpy.ndarray:
        try:
            return {_NUMPY: torch.from_numpy(numpy.ascontiguousarray(value)), "shape": list(value.shape)}, True
        except TypeError:
            return value, False  # of a type that torch has not
    return value, False


def from_plain(value: Any) -> Any:
    """The arrays of numpy again."""
    if isinstance(value, dict):
        if _NUMPY in value:
            return value[_NUMPY].cpu().numpy().reshape(value["shape"])
        for key in value:
            value[key] = from_plain(value[key])
        return value
    if type(value) is list:
        return [from_plain(item) for item in value]
    return tuple(from_plain(item) for item in value) if type(value) is tuple else value


def distributed() -> Any | None:
    """``torch.distributed`` where the notebook has initialised it."""
    torch = sys.modules.get("torch")
    module = getattr(torch, "distributed", None)
    return module if module is not None and module.is_available() and module.is_initialized() else None


def rank_and_world() -> tuple[int, int]:
    """This process's rank and how many there are; (0, 1) outside of torchrun."""
    group = distributed()
    if group is not None:
        return group.get_rank(), group.get_world_size()
    rank, world = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return (int(rank), int(world)) if rank.isdecimal() and world.isdecimal() else (0, 1)


_gloo: Any = None


def _cpu_group(group: Any) -> Any:
    """A group of all ranks that needs no GPU: made once, by all at the same time."""
    global _gloo
    if group.get_backend() == "gloo" or not group.is_gloo_available():
        return None
    if _gloo is None:
        _gloo = group.new_group(backend="gloo")
    return _gloo


def wait_for_all() -> None:
    """Until every rank is here; nothing without torch.distributed."""
    any_rank_says(False)


def any_rank_says(answer: bool) -> bool:
    """The same answer on every rank: whether it is True on any. All ranks must ask."""
    group = distributed()
    if group is None or group.get_world_size() == 1:
        return answer
    torch = sys.modules["torch"]
    cpu = _cpu_group(group)
    on_gpu = cpu is None and group.get_backend() == "nccl"
    said = torch.tensor([int(answer)], device=torch.cuda.current_device() if on_gpu else "cpu")
    group.all_reduce(said, op=group.ReduceOp.MAX, group=cpu)
    return bool(said.item())
