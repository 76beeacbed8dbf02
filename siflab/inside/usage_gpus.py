"""The GPUs that a job was given, and what they do: through NVML, which sees all of the node's.

CUDA_VISIBLE_DEVICES names the job's by number or uuid, else SLURM_STEP_GPUS or SLURM_JOB_GPUS by number. Where Slurm
keeps GPUs apart by cgroup the others cannot be had from NVML (they are missing, or refused), and numbers count among
the job's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

_NUMBER = re.compile(r"\d{1,4}", re.ASCII)
_HEAT = 0x20 | 0x40  # software and hardware thermal slowdown
_POWER = 0x04 | 0x80  # software power cap, hardware power brake
_SLOWDOWN = 0x08  # hardware slowdown: by heat or power, which newer drivers tell apart by the bits above
_MOST = 64


@dataclass
class Gpu:
    """`number`: as the notebook counts, from 0 (cuda:N). A MIG slice has its own memory and uuid; temperature, power
    and clocks are those of its card, `card`."""

    number: int
    handle: Any
    card: Any
    uuid: str
    name: str
    total: int | None
    mig: bool = False
    rank: int | None = None


def own_gpus(nvml: Any, environment: Mapping[str, str]) -> list[Gpu]:
    """Empty when the job was given none. No error is raised for what NVML cannot tell."""
    cards = _cards(nvml)
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        visible = environment.get("SLURM_STEP_GPUS") or environment.get("SLURM_JOB_GPUS")
        if visible is None:
            return [] if "SLURM_JOB_ID" in environment else [_gpu(nvml, i, card) for i, card in enumerate(cards)]
        if len(visible.split(",")) == len(cards):
            visible = ",".join(map(str, range(len(cards))))
    found: list[Gpu] = []
    for word in visible.split(",")[:_MOST]:
        gpu = _named(nvml, len(found), word.strip(), cards)
        if gpu is None:
            break  # as CUDA does: what follows an unknown one is not visible
        found.append(gpu)
    return found


def _cards(nvml: Any) -> list[Any]:
    cards = []
    with suppress(nvml.NVMLError):
        for index in range(min(_MOST, nvml.nvmlDeviceGetCount())):
            with suppress(nvml.NVMLError):
                cards.append(nvml.nvmlDeviceGetHandleByIndex(index))
    return cards


def _named(nvml: Any, number: int, word: str, cards: list[Any]) -> Gpu | None:
    if _NUMBER.fullmatch(word):
        index = int(word)
        if index >= len(cards):
            return None
        slices = list(_slices(nvml, cards[index]))
        return _gpu(nvml, number, cards[index], slices[0][0] if slices else None)
    if word.startswith("GPU-"):
        for card in cards:
            if _told(nvml, nvml.nvmlDeviceGetUUID, card, "").startswith(word):
                return _gpu(nvml, number, card)
    if word.startswith("MIG-"):
        for card in cards:
            for piece, uuid in _slices(nvml, card):
                if uuid.startswith(word):
                    return _gpu(nvml, number, card, piece)
    return None


def _slices(nvml: Any, card: Any) -> Any:
    """MIG slices of a card: (handle, uuid)."""
    with suppress(nvml.NVMLError):
        for index in range(nvml.nvmlDeviceGetMaxMigDeviceCount(card)):
            with suppress(nvml.NVMLError):
                piece = nvml.nvmlDeviceGetMigDeviceHandleByIndex(card, index)
                yield piece, _text(nvml.nvmlDeviceGetUUID(piece))


def _gpu(nvml: Any, number: int, card: Any, piece: Any = None) -> Gpu:
    handle = card if piece is None else piece
    memory = _told(nvml, nvml.nvmlDeviceGetMemoryInfo, handle, None)
    return Gpu(
        number=number,
        handle=handle,
        card=card,
        uuid=_told(nvml, nvml.nvmlDeviceGetUUID, handle, ""),
        name=_told(nvml, nvml.nvmlDeviceGetName, handle, "") or _told(nvml, nvml.nvmlDeviceGetName, card, "GPU"),
        total=int(memory.total) if memory is not None else None,
        mig=piece is not None,
    )


def read_gpu(nvml: Any, gpu: Gpu, ranks: Mapping[int, int | None]) -> dict[str, float]:
    """What can be read of it now: `util` percent, `memory` and `own` bytes (all of it in use, and that of the job's
    processes), `temp` degrees Celsius, `power` watts, `heat` and `capped` 1 while its clocks are held down by heat or
    by power. `ranks`: the job's processes, with the rank of each where they have one."""
    values: dict[str, float] = {}
    rates = _told(nvml, nvml.nvmlDeviceGetUtilizationRates, gpu.handle, None)
    if rates is not None:
        values["util"] = float(rates.gpu)
    memory = _told(nvml, nvml.nvmlDeviceGetMemoryInfo, gpu.handle, None)
    if memory is not None:
        values["memory"] = int(memory.used)
    processes = _told(nvml, nvml.nvmlDeviceGetComputeRunningProcesses, gpu.handle, None)
    if processes is not None:
        own = [process for process in processes if process.pid in ranks]
        if own or not processes:  # in a pid namespace of its own NVML's pids mean nothing
            values["own"] = sum(process.usedGpuMemory or 0 for process in own)
        for process in own:
            if ranks[process.pid] is not None:
                gpu.rank = ranks[process.pid]
    with suppress(nvml.NVMLError):
        values["temp"] = int(nvml.nvmlDeviceGetTemperature(gpu.card, 0))
    power = _told(nvml, nvml.nvmlDeviceGetPowerUsage, gpu.card, None)
    if power is not None:
        values["power"] = power / 1000
    reasons = _told(nvml, nvml.nvmlDeviceGetCurrentClocksThrottleReasons, gpu.card, None)
    if reasons is not None:
        values["capped"] = 1.0 if reasons & _POWER else 0.0
        values["heat"] = 1.0 if reasons & _HEAT or (reasons & _SLOWDOWN and not reasons & _POWER) else 0.0
    return values


def _told(nvml: Any, function: Any, handle: Any, otherwise: Any) -> Any:
    try:
        return _text(function(handle))
    except nvml.NVMLError:
        return otherwise


def _text(value: Any) -> Any:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value  # pynvml before version 11.5
