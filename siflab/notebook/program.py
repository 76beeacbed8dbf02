"""All code of a notebook, for what can be said only of the whole."""

import ast
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from siflab.notebook.magics import cell_magic, line_magics, shell_commands
from siflab.notebook.read import Cell
from siflab.notebook.trees import Called, Code, number_of

_KNOWN = sys.stdlib_module_names | frozenset(
    "numpy pandas matplotlib seaborn sklearn scipy PIL tqdm requests yaml IPython ipywidgets torch torchvision "  # noqa: SIM905
    "torchaudio cv2 skimage imageio networkx statsmodels sympy plotly nltk bs4 joblib psutil tabulate mpl_toolkits "
    "matplotlib_inline einops tiktoken regex tensorboard graphviz dateutil pytz openpyxl h5py pyarrow altair bokeh "
    "siflab".split()
)
"""Modules that use no GPU, set no seed and save nothing by themselves; of torch that is true where nothing says so."""
_OUTSIDE = re.compile(r"(?:pip3?|conda|mamba|ls|pwd|nvidia-smi|echo|cat|head|tail|wget|curl|unzip|tar|mkdir|git|rm)\b")


_HIDING = ("run", "load", "load_ext")


@dataclass(frozen=True)
class Program:
    """`codes` are those of the `cells` that are Python."""

    cells: Sequence[Cell]
    codes: Sequence[Code]

    @cached_property
    def source(self) -> str:
        return "\n".join(cell.source for cell in self.cells)

    @cached_property
    def modules(self) -> set[str]:
        return {module for code in self.codes for module in code.modules}

    @property
    def calls(self) -> Iterator[tuple[Cell, Called]]:
        """In the order of the notebook."""
        for code in self.codes:
            for called in sorted(code.calls, key=lambda called: (called.node.lineno, called.node.col_offset)):
                yield code.cell, called

    @cached_property
    def commands(self) -> list[tuple[Cell, int, str]]:
        """What is given to a shell, with its line."""
        return [(cell, line, command) for cell in self.cells for line, command in shell_commands(cell.source)]

    @cached_property
    def functions(self) -> set[str]:
        """Functions and classes that cells define."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        return {node.name for code in self.codes for node in ast.walk(code.tree) if isinstance(node, kinds)}

    @cached_property
    def is_all(self) -> bool:
        """Whether nothing that it does is hidden: in other modules, other files, or cells that are not understood."""
        understood = {code.cell.index for code in self.codes}
        return (
            self.modules <= _KNOWN
            and all(cell.index in understood or cell_magic(cell.source) for cell in self.cells)
            and all(_OUTSIDE.match(command) for _, _, command in self.commands if command.strip())
            and not any(name in _HIDING for cell in self.cells for _, name, _ in line_magics(cell.source))
        )

    def number(self, node: ast.expr | None) -> int | None:
        """A whole number that is written out, or the one that a name has throughout."""
        if isinstance(node, ast.Name):
            values = self._assigned.get(node.id, [])
            return values[0] if len(values) == 1 else None
        return number_of(node)

    @cached_property
    def _assigned(self) -> dict[str, list[int | None]]:
        found: dict[str, list[int | None]] = {}
        for code in self.codes:
            written = {
                id(target): number_of(node.value)
                for node in ast.walk(code.tree)
                if isinstance(node, ast.Assign)
                for target in node.targets
            }
            for node in ast.walk(code.tree):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    found.setdefault(node.id, []).append(written.get(id(node)))
                elif isinstance(node, ast.arg):
                    found.setdefault(node.arg, []).append(None)
        return found
