"""A notebook file, read once: its bytes (the snapshot), their hash, and its cells.

The format is nbformat 4 (https://nbformat.readthedocs.io/en/latest/format_description.html); only what a run needs of
it is checked, so that no nbformat need be installed where `siflab` runs.
"""

import hashlib
import json
import os
import stat
from dataclasses import dataclass
from typing import Any

from siflab.errors import FieldError
from siflab.text import Text

SIZE_LIMIT = 200 * 1024 * 1024
"""Bytes. A larger notebook is mostly outputs, and a snapshot of it would be made for each run."""
_TYPES = ("code", "markdown", "raw")


class NotebookError(Exception):
    """The file cannot be run; `error` says why, at the field ``path``."""

    def __init__(self, code: str, message: Text) -> None:
        super().__init__(message.en)
        self.error = FieldError("path", code, message)


@dataclass(frozen=True)
class Cell:
    """`index` among all cells from 0; `number` among code cells from 1, None for another kind of cell."""

    index: int
    number: int | None
    source: str
    tags: tuple[str, ...]
    execution_count: int | None
    has_outputs: bool

    @property
    def is_code(self) -> bool:
        return self.number is not None


@dataclass(frozen=True)
class Notebook:
    """`content` is the file as it was read; `modified_ns` is its time of modification then."""

    content: bytes
    sha256: str
    modified_ns: int
    cells: tuple[Cell, ...]
    kernel: str | None
    language: str
    is_script: bool = False
    """A Python script: one cell, number 1, which is the whole file."""

    @property
    def code_cells(self) -> list[Cell]:
        return [cell for cell in self.cells if cell.is_code]


def read_notebook(path: str) -> Notebook:
    """The notebook at `path`. Raises NotebookError; never blocks on what is no ordinary file, never reads more than
    SIZE_LIMIT."""
    content, modified_ns = _read(path)
    data = _parse(content)
    cells: list[Cell] = []
    number = 0
    for index, raw in enumerate(data["cells"]):
        if not isinstance(raw, dict) or raw.get("cell_type") not in _TYPES:
            raise _no_notebook(f"cell {index + 1} is of no known type", f"第 {index + 1} 个单元格类型未知")
        is_code = raw["cell_type"] == "code"
        number += is_code
        cells.append(_cell(raw, index, number if is_code else None))
    metadata = _mapping(data.get("metadata"))
    kernelspec, language_info = _mapping(metadata.get("kernelspec")), _mapping(metadata.get("language_info"))
    name = kernelspec.get("name")
    kernel = name if isinstance(name, str) and name else None
    language = kernelspec.get("language") or language_info.get("name") or ""
    if not language and (kernel is None or "python" in kernel.lower()):
        language = "python"
    return Notebook(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        modified_ns=modified_ns,
        cells=tuple(cells),
        kernel=kernel,
        language=str(language).lower(),
    )


def read_script(path: str) -> Notebook:
    """The Python script at `path`. Raises NotebookError, as `read_notebook` does."""
    content, modified_ns = _read(path)
    try:
        source = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise NotebookError(
            "not-a-script",
            Text(f"{path} is no UTF-8 text; save it as UTF-8", f"{path} 不是 UTF-8 文本；请另存为 UTF-8"),
        ) from None
    return Notebook(
        content=content,
        sha256=hashlib.sha256(content).hexdigest(),
        modified_ns=modified_ns,
        cells=(Cell(index=0, number=1, source=source, tags=(), execution_count=None, has_outputs=False),),
        kernel=None,
        language="python",
        is_script=True,
    )


def _read(path: str) -> tuple[bytes, int]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise NotebookError(
            "not-found",
            Text(f"there is no file {path}; check its name and folder", f"没有文件 {path}；请检查文件名和目录"),
        ) from None
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or str(error)
        raise NotebookError(
            "unreadable", Text(f"{path} cannot be read ({words})", f"无法读取 {path}（{words}）")
        ) from error
    try:
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            raise NotebookError(
                "not-a-file",
                Text(f"{path} is no file; name a notebook (.ipynb)", f"{path} 不是文件；请指定 notebook（.ipynb）"),
            )
        if facts.st_size > SIZE_LIMIT:
            raise _too_large(facts.st_size)
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            content = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise NotebookError(
            "unreadable", Text(f"{path} cannot be read ({error.strerror})", f"无法读取 {path}（{error.strerror}）")
        ) from error
    finally:
        os.close(descriptor)
    if len(content) > SIZE_LIMIT:
        raise _too_large(len(content))
    return content, facts.st_mtime_ns


def _parse(content: bytes) -> dict[str, Any]:
    if not content.strip():
        raise _no_notebook("it is empty", "文件为空")
    try:
        data = json.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise _no_notebook("it is no UTF-8 text", "不是 UTF-8 文本") from None
    except json.JSONDecodeError as error:
        raise _no_notebook(
            f"it is no JSON: line {error.lineno}, column {error.colno}: {error.msg}",
            f"不是 JSON：第 {error.lineno} 行第 {error.colno} 列：{error.msg}",
        ) from None
    except RecursionError:
        raise _no_notebook("its JSON is nested too deeply", "JSON 嵌套过深") from None
    if not isinstance(data, dict) or not isinstance(data.get("nbformat"), int):
        raise _no_notebook("it has no nbformat", "缺少 nbformat")
    if data["nbformat"] != 4:
        raise NotebookError(
            "notebook-format",
            Text(
                f"the notebook is of format {data['nbformat']}; open it in JupyterLab and save it (format 4)",
                f"notebook 格式为 {data['nbformat']}；请在 JupyterLab 中打开并保存（格式 4）",
            ),
        )
    if not isinstance(data.get("cells"), list):
        raise _no_notebook("it has no list of cells", "缺少单元格列表")
    return data


def _cell(raw: dict[str, Any], index: int, number: int | None) -> Cell:
    source = raw.get("source", "")
    tags = _mapping(raw.get("metadata")).get("tags")
    count = raw.get("execution_count")
    return Cell(
        index=index,
        number=number,
        source="".join(map(str, source)) if isinstance(source, list) else str(source),
        tags=tuple(tag for tag in tags if isinstance(tag, str)) if isinstance(tags, list) else (),
        execution_count=count if isinstance(count, int) else None,
        has_outputs=bool(raw.get("outputs")),
    )


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _no_notebook(en: str, zh: str) -> NotebookError:
    return NotebookError("not-a-notebook", Text(f"this is no Jupyter notebook: {en}", f"这不是 Jupyter notebook：{zh}"))


def _too_large(size: int) -> NotebookError:
    mib = size // (1024 * 1024)
    return NotebookError(
        "notebook-too-large",
        Text(
            f"the notebook has {mib} MiB; clear its outputs and save it (at most {SIZE_LIMIT >> 20} MiB)",
            f"notebook 有 {mib} MiB；请清除输出后保存（最多 {SIZE_LIMIT >> 20} MiB）",
        ),
    )
