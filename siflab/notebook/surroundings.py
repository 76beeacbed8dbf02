"""What preflight must know of the place in which the notebook will run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from siflab.notebook.findings import Finding
from siflab.notebook.kernels import Kernels


@dataclass(frozen=True)
class Surroundings:
    """`kernels` are the image's, None when they are not known here; `kernel` is the one asked for, if any.
    `own_kernel`: the kernel is one of the person's own environments, and what there is to say of it. `exists`
    says whether a path is there for whoever looks; `in_job` gives the path by which the job sees such a path, None when
    it does not (each may be told nothing by a function that always answers so). `has_module` says whether the image,
    or the notebook's folder, has a module of that name; None where that is not known."""

    kernel: str | None = None
    kernels: Kernels | None = None
    own_kernel: Sequence[Finding] | None = None
    nodes: int = 1
    exists: Callable[[str], bool] = lambda path: False
    in_job: Callable[[str], str | None] = lambda path: path
    has_module: Callable[[str], bool] | None = None
