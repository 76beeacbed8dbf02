"""What preflight must know of the place in which a run will be."""

import importlib.util
import os
import time
from collections.abc import Callable
from pathlib import Path

from siflab.config import Resources
from siflab.notebook import Surroundings, kernels_here
from siflab.runs.environments import KernelChoice
from siflab.runs.job_view import JobView
from siflab.runs.request import RunRequest
from siflab.runs.viewer import Viewer
from siflab.slurm.commands import scontrol_partitions
from siflab.slurm.scontrol import parse_partitions


def surroundings(
    viewer: Viewer,
    job_view: JobView,
    request: RunRequest,
    resources: Resources,
    own: KernelChoice,
    *,
    ask_slurm: bool = False,
) -> Surroundings:
    """In a session with the run's image, the image's kernels and modules are those that are here. With `ask_slurm` the
    partition's limit is asked for, once in ten minutes; what Slurm does not say in 0.7 seconds is not known."""
    session = viewer.in_session
    same_image = session is not None and session.image_id == resources.image_id

    partition = viewer.site.slurm.partitions.get(resources.partition)

    def in_job(path: str) -> str | None:
        host = viewer.host(path)
        return job_view.inside(host) if host is not None else None

    return Surroundings(
        kernel=request.kernel or None,
        kernels=kernels_here() if same_image else None,
        own_kernel=[*([own.finding] if own.finding else [])] if own.is_own else None,
        mode=request.mode,
        nodes=resources.nodes,
        gpus=resources.gpus,
        cpus=resources.cpus,
        time_seconds=resources.time_seconds,
        max_time=_max_times(viewer).get(resources.partition) if ask_slurm else None,
        internet=partition.internet if partition else None,
        exists=os.path.exists,
        beside=lambda path: (Path(request.path).parent / path).exists(),
        in_job=in_job,
        has_module=_modules_beside(Path(request.path).parent) if same_image and not own.is_own else None,
    )


def _max_times(viewer: Viewer) -> dict[str, int | None]:
    """Partition -> the most seconds that a job of it may ask for."""
    until, known = viewer.memory.get(_max_times, (0.0, {}))
    if time.monotonic() >= until:
        answer = viewer.slurm.run(scontrol_partitions(), timeout=0.7)
        known = {partition.name: partition.max_time for partition in parse_partitions(answer.stdout)}
        viewer.memory[_max_times] = (time.monotonic() + (600 if known else 60), known)
    return dict(known)


def _modules_beside(folder: Path) -> Callable[[str], bool]:
    """Whether this Python, or the notebook's folder, has a module; nothing is imported."""

    def has_module(name: str) -> bool:
        if (folder / f"{name}.py").exists() or (folder / name).is_dir():
            return True
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError, AttributeError):
            return True  # a module that is there, in a way that cannot be told

    return has_module
