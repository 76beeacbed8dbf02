"""The parameters of a notebook: the assignments in the cell tagged ``parameters`` (papermill's convention).

Read from the syntax tree, so nothing is executed: names, types, defaults, and what a comment behind the line says. A
comment may begin with ``type: float``, as papermill has it.
"""

import ast
import difflib
import io
import json
import tokenize
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from siflab.errors import FieldError, Invalid
from siflab.notebook.magics import plain_python, syntax_tree
from siflab.notebook.read import Cell, Notebook
from siflab.text import Text

TAG = "parameters"
Kind = Literal["int", "float", "bool", "str", "list", "dict", "any"]
_KINDS: dict[str, Kind] = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "list": "list", "List": "list", "tuple": "list",
    "Tuple": "list", "dict": "dict", "Dict": "dict", "Mapping": "dict", "Sequence": "list",
}  # fmt: skip
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


@dataclass(frozen=True)
class Parameter:
    """`default` is the source of the default value, as it stands in the cell; `value` is it as JSON, where it is a
    literal that JSON can say (else None, and `kind` is what an annotation says, or ``any``)."""

    name: str
    kind: Kind
    default: str
    value: Any
    help: str
    cell: int
    line: int

    def as_dict(self) -> dict[str, Any]:
        """The `Parameter` of openapi.yaml."""
        return dict(vars(self))


def find_parameters(notebook: Notebook) -> list[Parameter]:
    """Those of the first cell with the tag, in its order; the last assignment of a name counts."""
    cell = next((cell for cell in notebook.code_cells if TAG in cell.tags), None)
    tree = syntax_tree(cell.source) if cell is not None and notebook.language == "python" else None
    if cell is None or tree is None:
        return []
    comments = _comments(cell)
    found: dict[str, Parameter] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            target, annotation, value = node.targets[0].id, "", node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            target, annotation, value = node.target.id, ast.unparse(node.annotation), node.value
        else:
            continue
        found[target] = _parameter(cell, target, annotation, value, comments.get(node.end_lineno or node.lineno, ""))
    return list(found.values())


def _parameter(cell: Cell, name: str, annotation: str, node: ast.expr, comment: str) -> Parameter:
    said, comment = _type_in(comment)
    literal, known = _literal(node)
    wanted = annotation or said
    kind: Kind = _KINDS.get(wanted.partition("[")[0].rpartition(".")[2].strip(), "any") if wanted else _kind_of(literal)
    return Parameter(
        name=name,
        kind=kind,
        default=ast.unparse(node),
        value=literal if known else None,
        help=comment,
        cell=cell.index,
        line=node.lineno,
    )


def _type_in(comment: str) -> tuple[str, str]:
    """``type: float learning rate`` -> (``float``, ``learning rate``)."""
    if not comment.startswith("type:"):
        return "", comment
    words = comment.removeprefix("type:").split(maxsplit=1)
    return (words[0] if words else ""), (words[1] if len(words) > 1 else "")


def _literal(node: ast.expr) -> tuple[Any, bool]:
    try:
        value = ast.literal_eval(node)
        return json.loads(json.dumps(value, allow_nan=False)), True
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None, False


def _kind_of(value: Any) -> Kind:
    if isinstance(value, bool):
        return "bool"
    return _KINDS.get(type(value).__name__, "any")


def _comments(cell: Cell) -> dict[int, str]:
    """line -> the comment at its end."""
    source = plain_python(cell.source) or ""
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
                found[token.start[0]] = token.string.lstrip("#").strip()
    except (tokenize.TokenError, SyntaxError, IndentationError):
        pass
    return found


def check_parameters(notebook: Notebook, values: Mapping[str, Any], field: str = "parameters") -> dict[str, Any]:
    """The values, each of its parameter's type: a text is read as one (``"3"`` for an int). Raises Invalid with one
    error, at ``parameters.NAME``, for each that cannot be."""
    if not values:
        return {}
    known = {parameter.name: parameter for parameter in find_parameters(notebook)}
    if notebook.language != "python":
        raise Invalid([FieldError(field, "not-python", Text(
            f"parameters are written as Python, and this notebook is in {notebook.language or 'another language'}",
            f"参数以 Python 写入，而此 notebook 使用 {notebook.language or '其他语言'}"))])  # fmt: skip
    errors, checked = [], {}
    for name, value in values.items():
        place = f"{field}.{name}"
        if name not in known:
            errors.append(FieldError(place, "unknown-parameter", _unknown(name, list(known))))
            continue
        try:
            checked[name] = typed(value, known[name].kind)
        except ValueError:
            kind = known[name].kind
            errors.append(FieldError(place, "wrong-type", Text(
                f"{_short(value)} is no {kind}", f"{_short(value)} 不是 {kind} 类型")))  # fmt: skip
    if errors:
        raise Invalid(errors)
    return checked


def typed(value: Any, kind: Kind) -> Any:
    """`value` as JSON of that kind. Raises ValueError."""
    if kind == "str":
        if isinstance(value, dict | list):
            raise ValueError("no text")
        return value if isinstance(value, str) or value is None else json.dumps(value)
    if isinstance(value, str):
        value = _from_text(value, kind)
    if value is None or kind == "any":
        return value
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and isinstance(value, int | float) and not isinstance(value, bool) and value == int(value):
        return int(value)
    if kind == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if (kind == "list" and isinstance(value, list)) or (kind == "dict" and isinstance(value, dict)):
        return value
    raise ValueError(f"no {kind}")


def _from_text(text: str, kind: Kind) -> Any:
    plain = text.strip()
    if kind == "bool":
        if plain.lower() in (*_TRUE, *_FALSE):
            return plain.lower() in _TRUE
        raise ValueError("no truth value")
    if kind == "int":
        return int(plain, 10)
    if kind == "float":
        return float(plain)
    try:
        return json.loads(plain)
    except ValueError:
        pass
    try:
        return json.loads(json.dumps(ast.literal_eval(plain), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        if kind == "any":
            return text
        raise ValueError(f"no {kind}") from None


def _unknown(name: str, names: list[str]) -> Text:
    if not names:
        return Text(
            "the notebook has no parameters: give the tag `parameters` to the cell that assigns them",
            "此 notebook 没有参数：请给赋值的单元格加上标签 parameters",
        )
    near = difflib.get_close_matches(name, names, n=1)
    listed = ", ".join(names)
    hint = Text(f"did you mean {near[0]}? ", f"是否指 {near[0]}？") if near else Text("", "")
    return Text(
        f"the notebook has no parameter {name}; {hint.en}there are: {listed}",
        f"notebook 没有参数 {name}；{hint.zh}可用：{listed}",
    )


def _short(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:59] + "…"
