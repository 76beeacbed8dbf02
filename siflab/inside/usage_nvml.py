"""The few functions of `pynvml` (nvidia-ml-py) that are needed, for images that do not have it: the driver's library
itself, which ``singularity exec --nv`` brings, called by the names and with the results of pynvml.

Layouts and numbers are those of NVIDIA's nvml.h.
"""

from __future__ import annotations

import ctypes
import importlib
import warnings
from typing import Any

_LIBRARY = "libnvidia-ml.so.1"
_NO_VALUE = 2**64 - 1  # NVML_VALUE_NOT_AVAILABLE
_MORE = 7  # NVML_ERROR_INSUFFICIENT_SIZE


class NVMLError(Exception):
    """`value` is nvmlReturn_t."""

    def __init__(self, value: int) -> None:
        super().__init__(f"NVML error {value}")
        self.value = value


class _Utilization(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Memory(ctypes.Structure):
    _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class _Process(ctypes.Structure):
    _fields_ = [
        ("pid", ctypes.c_uint),
        ("usedGpuMemory", ctypes.c_ulonglong),
        ("gpuInstanceId", ctypes.c_uint),
        ("computeInstanceId", ctypes.c_uint),
    ]


class Nvml:
    """The library. Raises OSError when there is none, NVMLError for what a call answers."""

    NVMLError = NVMLError

    def __init__(self) -> None:
        self._library = ctypes.CDLL(_LIBRARY)

    def nvmlInit(self) -> None:
        self._call("nvmlInit_v2")

    def nvmlShutdown(self) -> None:
        self._call("nvmlShutdown")

    def nvmlDeviceGetCount(self) -> int:
        count = ctypes.c_uint()
        self._call("nvmlDeviceGetCount_v2", ctypes.byref(count))
        return count.value

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Any:
        return self._handle("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index))

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Any) -> int:
        return self._number("nvmlDeviceGetMaxMigDeviceCount", handle)

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: int) -> Any:
        return self._handle("nvmlDeviceGetMigDeviceHandleByIndex", handle, ctypes.c_uint(index))

    def nvmlDeviceGetUUID(self, handle: Any) -> str:
        return self._text("nvmlDeviceGetUUID", handle)

    def nvmlDeviceGetName(self, handle: Any) -> str:
        return self._text("nvmlDeviceGetName", handle)

    def nvmlDeviceGetUtilizationRates(self, handle: Any) -> _Utilization:
        rates = _Utilization()
        self._call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(rates))
        return rates

    def nvmlDeviceGetMemoryInfo(self, handle: Any) -> _Memory:
        memory = _Memory()
        self._call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(memory))
        return memory

    def nvmlDeviceGetTemperature(self, handle: Any, sensor: int) -> int:
        """Degrees Celsius."""
        value = ctypes.c_uint()
        self._call("nvmlDeviceGetTemperature", handle, ctypes.c_int(sensor), ctypes.byref(value))
        return value.value

    def nvmlDeviceGetPowerUsage(self, handle: Any) -> int:
        """Milliwatts."""
        return self._number("nvmlDeviceGetPowerUsage", handle)

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any) -> int:
        """Bits."""
        value = ctypes.c_ulonglong()
        self._call("nvmlDeviceGetCurrentClocksThrottleReasons", handle, ctypes.byref(value))
        return value.value

    def nvmlDeviceGetComputeRunningProcesses(self, handle: Any) -> list[Any]:
        """With `pid` and `usedGpuMemory` in bytes (None where the driver cannot tell)."""
        for version in ("_v3", "_v2"):  # the layout is the same; a driver older than 11.0's has neither
            function = getattr(self._library, f"nvmlDeviceGetComputeRunningProcesses{version}", None)
            if function is not None:
                break
        else:
            raise NVMLError(13)
        count = ctypes.c_uint(0)
        room = 0
        while True:
            found = (_Process * max(1, room))()
            count.value = room
            code = function(handle, ctypes.byref(count), found if room else None)
            if code == _MORE and room < 4096:
                room = count.value * 2 + 5
                continue
            if code:
                raise NVMLError(code)
            processes = list(found[: count.value])
            return [_known(process) for process in processes]

    def _handle(self, name: str, *arguments: Any) -> Any:
        handle = ctypes.c_void_p()
        self._call(name, *arguments, ctypes.byref(handle))
        return handle

    def _number(self, name: str, handle: Any) -> int:
        value = ctypes.c_uint()
        self._call(name, handle, ctypes.byref(value))
        return value.value

    def _text(self, name: str, handle: Any) -> str:
        text = ctypes.create_string_buffer(96)
        self._call(name, handle, text, ctypes.c_uint(96))
        return text.value.decode("utf-8", "replace")

    def _call(self, name: str, *arguments: Any) -> None:
        function = getattr(self._library, name, None)
        code = 13 if function is None else function(*arguments)  # 13: NVML_ERROR_FUNCTION_NOT_FOUND
        if code:
            raise NVMLError(code)


class _Known:
    def __init__(self, pid: int, memory: int | None) -> None:
        self.pid, self.usedGpuMemory = pid, memory


def _known(process: _Process) -> _Known:
    memory = process.usedGpuMemory
    return _Known(process.pid, None if memory == _NO_VALUE else memory)


def load() -> Any:
    """`pynvml` where the image has it, else `Nvml`, initialised; None where there is no driver to ask."""
    for make in (_pynvml, Nvml):
        try:
            nvml = make()
            nvml.nvmlInit()
        except Exception:
            continue
        return nvml
    return None


def _pynvml() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the package `pynvml` says that it is deprecated
        return importlib.import_module("pynvml")
