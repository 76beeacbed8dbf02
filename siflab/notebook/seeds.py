"""Where a notebook or a script sets its random numbers, by syntax tree: for the record of a run."""

import ast
from dataclasses import dataclass
from typing import Any

from siflab.notebook.magics import syntax_tree
from siflab.notebook.read import Notebook

_ENDS = frozenset(
    {"manual_seed", "manual_seed_all", "set_seed", "seed_everything", "set_random_seed", "default_rng", "PRNGKey"}
)
"""Of torch, accelerate and transformers, Lightning, TensorFlow and Keras, numpy, JAX."""
_DOTTED = frozenset({"random.seed", "random.Random", "np.random.seed", "numpy.random.seed", "jax.random.key"})
_KEYWORDS = frozenset({"random_state", "seed"})
_MOST = 50


@dataclass(frozen=True)
class Seed:
    """`value` is the argument's source, such as ``42`` or ``SEED``; `cell` the index among all cells from 0."""

    cell: int
    line: int
    call: str
    value: str

    def as_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def find_seeds(notebook: Notebook) -> list[Seed]:
    """In the order of the cells, 50 at most."""
    found: list[Seed] = []
    for cell in notebook.code_cells if notebook.language == "python" else []:
        tree = syntax_tree(cell.source)
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)] if tree is not None else []
        for node in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
            name, value = _name(node.func), _value(node)
            if value is not None and name:
                found.append(Seed(cell.index, node.lineno, name[:80], value[:80]))
    return found[:_MOST]


def _name(function: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    return ".".join(reversed(parts))


def _value(call: ast.Call) -> str | None:
    name = _name(call.func)
    sets = name.rpartition(".")[2] in _ENDS or name in _DOTTED
    if sets and call.args:
        return ast.unparse(call.args[0])
    return next((ast.unparse(word.value) for word in call.keywords if word.arg in _KEYWORDS), None)
