"""What preflight must know of the place in which the notebook will run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from siflab.notebook.findings import Finding
from siflab.notebook.kernels import Kernels


@dataclass(frozen=True)
class Surroundings:
    """`kernels` are the image's, None when they are not known here; `kernel` is the one asked for, if any.
    `own_kernel`: the kernel is one of the person's own environments, and what there is to say of it. `exists`
    says whether a path is there for whoever looks, `beside` whether a path relative to the notebook's folder is (None:
    not known); `in_job` gives the path by which the job sees such a path, None when
    it does not (each may be told nothing by a function that always answers so). `has_module` says whether the image,
    or the notebook's folder, has a module of that name; None where that is not known.

    `mode`, `nodes`, and for each node `gpus` and `cpus` are the request's; `time_seconds` is what it asks for,
    `max_time` what the partition allows; `internet` says whether its nodes reach the internet. None: not known."""

    kernel: str | None = None
    kernels: Kernels | None = None
    own_kernel: Sequence[Finding] | None = None
    mode: str = "notebook"
    nodes: int = 1
    gpus: int | None = None
    cpus: int | None = None
    time_seconds: int | None = None
    max_time: int | None = None
    internet: bool | None = None
    exists: Callable[[str], bool] = lambda path: False
    beside: Callable[[str], bool] | None = None
    in_job: Callable[[str], str | None] = lambda path: path
    has_module: Callable[[str], bool] | None = None
