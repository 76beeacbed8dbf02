"""Environments: a person's own packages on top of an image that cannot be written.

One is a virtual environment with the image's packages below it, made for one image (see `siflab.container.digest`),
and registered as a Jupyter kernel that only sessions and runs of that image see. The package needs Python 3.9 and its
standard library alone, for it runs inside images that have nothing of Siflab: `archive` packs it into one file.

Below ``~/.siflab/environments``, as the container has it::

    NAME/ID/environment.json            the record, written last: without it the environment is unfinished
    NAME/ID/making.json                 where an unfinished one lies, and since when
    .kernels/ID/kernels/siflab-NAME/    the kernelspec; sessions of that image have ``.kernels/ID`` in JUPYTER_PATH
    .locks/NAME-ID                      held while somebody works on it

ID is the first 12 hexadecimal digits of the image's identity. The virtual environment itself is ``NAME/ID/venv`` below
the same folder, or below the site's scratch folder, or one that the person names: it cannot be moved, so it is made
where it stays.
"""

from siflab.environments.archive import build_archive, program_text
from siflab.environments.kernels import KERNEL_PREFIX, environment_of_kernel, jupyter_path
from siflab.environments.making import Making, create, install, rebuild, remove
from siflab.environments.place import Place, short
from siflab.environments.store import Environment, Store

__all__ = [
    "KERNEL_PREFIX",
    "Environment",
    "Making",
    "Place",
    "Store",
    "build_archive",
    "create",
    "environment_of_kernel",
    "install",
    "jupyter_path",
    "program_text",
    "rebuild",
    "remove",
    "short",
]
