"""Samples as the runner writes them, made by a rule instead of a job."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

GIB = 1 << 30
BEGAN = 1_790_000_000.0
HEAD = {
    "began": BEGAN,
    "version": 1,
    "node": "gpu01",
    "number": 0,
    "cpus": 8,
    "memory": 64 * GIB,
    "gpus": 1,
    "interval": 5.0,
    "nvml": True,
}
NODE = {
    "cpu": 6.0, "top": 0.9, "busy": 5.0, "blocked": 0, "processes": 8, "memory": 40 * GIB, "peak": 40 * GIB, "read": 0,
    "written": 0, "disk_read": 0, "disk_written": 0, "open": 0, "cell": 2, "number": 1,
}  # fmt: skip
GPU = {"util": 95.0, "memory": 50 * GIB, "own": 49 * GIB, "temp": 60, "power": 300.0, "heat": 0.0, "capped": 0.0}

Change = Callable[[int], dict[str, Any]]


def lines(
    count: int,
    node: Change = lambda i: {},
    *gpus: Change,
    head: dict[str, Any] | None = None,
    files: Iterable[tuple[int, str, int]] = (),
) -> list[dict[str, Any]]:
    """`count` samples, 5 s apart, that differ by what `node` and each of `gpus` give for a sample's number; one GPU of
    80 GB that works well if there are none. `files`: (sample, name, size)."""
    gpus = gpus or (lambda i: {},)
    facts = [{"gpu": g, "uuid": f"GPU-{g}", "name": "A100", "total": 80 * GIB, "mig": False} for g in range(len(gpus))]
    found: list[dict[str, Any]] = [{**HEAD, "gpus": len(gpus), **(head or {})}, *facts]
    for i in range(count):
        t = BEGAN + 5 * (i + 1)
        found.append({"t": t, "d": 5.0, **NODE, **node(i)})
        found += [{"t": t, "d": 5.0, "gpu": g, "cell": 2, **GPU, **gpu(i)} for g, gpu in enumerate(gpus)]
        found += [{"t": t, "file": name, "size": size} for at, name, size in files if at == i]
    return found


def write(path: Path, found: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in found))
