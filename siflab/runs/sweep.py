"""The points of a sweep: from a grid, a list or a CSV to typed parameter sets, and how they fit into job arrays."""

import csv
import io
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from siflab.errors import FieldError, Invalid
from siflab.notebook import Notebook
from siflab.notebook.parameters import check_parameters, typed
from siflab.runs.request import RunRequest, Sweep
from siflab.slurm.array_limits import ArrayLimits
from siflab.text import Text

POINTS_LIMIT = 100_000


@dataclass(frozen=True)
class Chunk:
    """One job array: `count` points from the point `offset` on."""

    offset: int
    count: int


def points_of(request: RunRequest, notebook: Notebook) -> list[dict[str, Any]]:
    """The parameters of each point, in order. Raises Invalid with what is wrong at its place (``sweep.grid.NAME``,
    ``sweep.points.3.NAME``, ``sweep.csv``: the line)."""
    sweep = request.sweep
    assert sweep is not None
    rows, place = _rows(sweep)
    if not rows:
        raise _wrong("sweep", "no-points", "the sweep has no points", "参数扫描没有任何点")
    if notebook.is_script:
        return [{name: typed(value, "any") for name, value in row.items()} for row in rows]
    checked: list[dict[str, Any]] = []
    errors: dict[str, FieldError] = {}
    for index, row in enumerate(rows):
        try:
            checked.append(check_parameters(notebook, row, "sweep"))
        except Invalid as invalid:
            for error in invalid.errors:
                name = error.field.partition(".")[2]
                field = place(index, name)
                errors.setdefault(field, FieldError(field, error.code, error.message))
    if errors:
        raise Invalid(list(errors.values())[:50])
    return checked


def chunks(points: int, limits: ArrayLimits) -> list[Chunk]:
    """The job arrays that the points need. Raises Invalid when they cannot be submitted at all."""
    if limits.submitted is not None and points > limits.submitted:
        raise _wrong(
            "sweep",
            "too-many-jobs",
            f"{points} points are {points} jobs, and you may have {limits.submitted} in the queue ({limits.because}): "
            "take fewer points, or submit them in parts",
            f"{points} 个点即 {points} 个作业，而您最多可有 {limits.submitted} 个作业排队（{limits.because}）："
            "请减少点数，或分批提交",
        )
    if limits.size < 1:
        raise _wrong(
            "sweep",
            "no-arrays",
            "this cluster has no job arrays (MaxArraySize), which a sweep is made of",
            "本集群不支持作业数组（MaxArraySize），无法进行参数扫描",
        )
    return [Chunk(start, min(limits.size, points - start)) for start in range(0, points, limits.size)]


def _rows(sweep: Sweep) -> tuple[list[dict[str, Any]], Any]:
    if sweep.grid is not None:
        return _grid(sweep.grid), lambda index, name: f"sweep.grid.{name}"
    if sweep.points is not None:
        _few_enough(len(sweep.points))
        return list(sweep.points), lambda index, name: f"sweep.points.{index}.{name}"
    return _csv(sweep.csv or ""), lambda index, name: f"sweep.csv.{index + 2}.{name}"


def _grid(grid: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """Every combination; the last name changes fastest."""
    empty = [name for name, values in grid.items() if not values]
    if empty:
        words = Text("give at least one value", "至少给出一个值")
        raise Invalid([FieldError(f"sweep.grid.{name}", "no-values", words) for name in empty])
    _few_enough(math.prod(len(values) for values in grid.values()) if grid else 0)
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())] if grid else []


def _csv(text: str) -> list[dict[str, Any]]:
    """One point a line, under a line of names; commas, semicolons or tabs (a spreadsheet's clipboard) between. An empty
    value is the notebook's default."""
    text = text.removeprefix("\ufeff")
    first = text.partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        lines = [[value.strip() for value in line] for line in reader]
    except csv.Error as error:
        raise _bad_csv(reader.line_num, Text(f"it is no CSV: {error}", f"不是 CSV：{error}")) from error
    lines = [line for line in lines if any(line)]
    if not lines:
        return []
    names = lines[0]
    if any(not name.isidentifier() for name in names) or len(set(names)) != len(names):
        raise _bad_csv(1, Text("the first line must name the parameters, each once", "第一行必须是参数名，且不能重复"))
    _few_enough(len(lines) - 1)
    for number, line in enumerate(lines[1:], 2):
        if len(line) != len(names):
            has, wanted = len(line), len(names)
            raise _bad_csv(number, Text(f"it has {has} values, not {wanted}", f"有 {has} 个值，应为 {wanted} 个"))
    return [{name: value for name, value in zip(names, line, strict=True) if value} for line in lines[1:]]


def _bad_csv(line: int, what: Text) -> Invalid:
    words = Text(f"line {line}: {what.en}", f"第 {line} 行：{what.zh}")
    return Invalid([FieldError("sweep.csv", "bad-csv", words)])


def _few_enough(points: int) -> None:
    if points > POINTS_LIMIT:
        en, zh = f"{points} points are more than {POINTS_LIMIT}", f"{points} 个点超过上限 {POINTS_LIMIT}"
        raise _wrong("sweep", "too-many-points", en, zh)


def _wrong(field: str, code: str, en: str, zh: str) -> Invalid:
    return Invalid([FieldError(field, code, Text(en, zh))])
