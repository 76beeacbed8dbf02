"""Reading notebooks: what they hold, and what would go wrong if they ran as a batch job."""

from siflab.notebook.findings import Finding, Fix
from siflab.notebook.kernels import Kernels, kernels_here
from siflab.notebook.preflight import preflight
from siflab.notebook.read import Cell, Notebook, NotebookError, read_notebook, read_script
from siflab.notebook.surroundings import Surroundings

__all__ = [
    "Cell",
    "Finding",
    "Fix",
    "Kernels",
    "Notebook",
    "NotebookError",
    "Surroundings",
    "kernels_here",
    "preflight",
    "read_notebook",
    "read_script",
]
