"""What a job is made of, noted once an attempt in facts.json: versions, driver, container, what Slurm gave.

Nothing is imported or started for it: versions are those of installed distributions, CUDA's is read from torch's own
file, the driver's from the kernel.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from .attempt import AttemptFolder, now
from .saving import replace_json

PACKAGES = (
    "torch", "torchvision", "lightning", "pytorch-lightning", "transformers", "accelerate", "deepspeed", "datasets",
    "tensorflow", "keras", "jax", "jaxlib", "flax", "numpy", "scipy", "pandas", "scikit-learn", "xgboost", "cupy",
    "nvidia-nccl-cu12", "nvidia-cudnn-cu12", "ipykernel", "nbclient", "jupyterlab",
)  # fmt: skip
SLURM = (
    "SLURM_JOB_ID", "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_CLUSTER_NAME", "SLURM_JOB_PARTITION",
    "SLURM_JOB_ACCOUNT", "SLURM_JOB_QOS", "SLURM_JOB_NODELIST", "SLURM_JOB_NUM_NODES", "SLURM_CPUS_PER_TASK",
    "SLURM_CPUS_ON_NODE", "SLURM_MEM_PER_NODE", "SLURM_JOB_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_RESTART_COUNT",
    "CUDA_VISIBLE_DEVICES",
)  # fmt: skip
"""Variables that say what the job was given; none of them is a secret."""
_LABELS = Path("/.singularity.d/labels.json")
_DRIVER, _GPUS = Path("/proc/driver/nvidia/version"), Path("/proc/driver/nvidia/gpus")
_LIMIT = 64 * 1024
_TORCH_CUDA = re.compile(r"^cuda\b[^=\n]{0,80}= ?'([\d.]{1,20})'", re.M | re.ASCII)
_NVRM = re.compile(r"Module {1,4}([\d.]{3,20}) ", re.ASCII)


def write_facts(attempt: AttemptFolder) -> None:
    """facts.json of the attempt, by its first node. What cannot be found is left out, and no error is raised: a run
    does not fail for its record."""
    if os.environ.get("SLURM_NODEID", "0") != "0":
        return
    with suppress(Exception):
        attempt.folder.mkdir(parents=True, exist_ok=True)
        replace_json(attempt.folder / "facts.json", facts())


def facts() -> dict[str, Any]:
    found: dict[str, Any] = {
        "noted_at": now(),
        "python": platform.python_version(),
        "executable": sys.executable,
        "platform": platform.platform(),
        "host": platform.node(),
        "node": os.environ.get("SLURMD_NODENAME"),
        "cpu": _cpu(),
        "packages": _packages(),
        "torch_cuda": _torch_cuda(),
        "driver": _driver(),
        "cuda_driver": _cuda_driver(),
        "gpus": _gpus(),
        "slurm": {name: os.environ[name] for name in SLURM if name in os.environ},
        "image": os.environ.get("SINGULARITY_CONTAINER") or os.environ.get("APPTAINER_CONTAINER"),
        "image_labels": _labels(),
    }
    return {name: value for name, value in found.items() if value not in (None, {}, [])}


def _packages() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with suppress(Exception):
            found[name] = importlib.metadata.version(name)
    return found


def _torch_cuda() -> str | None:
    with suppress(Exception):
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.origin is not None:
            match = _TORCH_CUDA.search(_text(Path(spec.origin).with_name("version.py")))
            return match[1] if match else None
    return None


def _driver() -> str | None:
    with suppress(OSError):
        match = _NVRM.search(_text(_DRIVER))
        return match[1] if match else None
    return None


def _cuda_driver() -> str | None:
    """The newest CUDA that the driver can: ``12.2``. The call needs no device and starts nothing."""
    with suppress(Exception):
        number = ctypes.c_int()
        if ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(number)) == 0:
            return f"{number.value // 1000}.{number.value % 1000 // 10}"
    return None


def _gpus() -> list[str]:
    """Models of the node's GPUs, also of those that the job was not given."""
    models = []
    with suppress(OSError):
        for path in sorted(_GPUS.iterdir())[:64]:
            for line in _text(path / "information").splitlines():
                if line.startswith("Model:"):
                    models.append(line.partition(":")[2].strip())
    return models


def _cpu() -> str | None:
    with suppress(OSError):
        for line in _text(Path("/proc/cpuinfo")).splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return None


def _labels() -> dict[str, str]:
    with suppress(OSError, ValueError):
        value = json.loads(_text(_LABELS))
        if isinstance(value, dict):
            return {str(name): str(text)[:1000] for name, text in list(value.items())[:100]}
    return {}


def _text(path: Path) -> str:
    with path.open("rb") as stream:
        return stream.read(_LIMIT).decode("utf-8", "replace")
