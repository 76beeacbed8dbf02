"""Passwords and tokens in cells and in what cells printed. What was found is never repeated."""

import json
import re
from collections.abc import Iterator
from typing import Any

from siflab.notebook.findings import Finding
from siflab.notebook.read import Cell, Notebook
from siflab.text import Text

_LARGEST = 20 * 1024 * 1024  # bytes of a notebook whose outputs are looked at
_TOKEN = re.compile(
    r"\b(?:A(?:KIA|SIA)[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{60}|glpat-[A-Za-z0-9_-]{20}|hf_[A-Za-z]{30}"
    r"|sk-(?:proj-|ant-)?[A-Za-z0-9_-]{32}|xox[abprs]-[A-Za-z0-9-]{20}|AIza[A-Za-z0-9_-]{35}|pypi-[A-Za-z0-9_-]{40}"
    r"|npm_[A-Za-z0-9]{36}|dckr_pat_[A-Za-z0-9_-]{27}|sq0csp-[A-Za-z0-9_-]{43}|eyJhbGciOi[A-Za-z0-9_-]{10,400}\.eyJ)"
    r"|-----BEGIN (?:[A-Z]{2,12} )?PRIVATE KEY-----",
    re.ASCII,
)
_NAMED = re.compile(
    r"\b(?:\w{0,40}_)?(?:password|passwd|secret|api_?key|access_?key|auth_?token|access_?token)\s{0,4}=\s{0,4}"
    r"(?P<quote>['\"])(?P<value>[^'\"\s]{8,200})(?P=quote)",
    re.ASCII | re.I,
)
_IN_ADDRESS = re.compile(r"://[^\s/:@'\"{}<$]{1,64}:(?P<value>[^\s/:@'\"{}<$*]{8,128})@[A-Za-z0-9]", re.ASCII)
_NOT_MEANT = re.compile(
    r"your|xxx|\*\*\*|<|\.\.\.|change|example|placeholder|dummy|secret|password|token|insert|test", re.I
)


def find_secrets(notebook: Notebook, cells: list[Cell]) -> list[Finding]:
    """At most one for each line of code, and one for each cell's outputs."""
    findings = []
    for cell in cells:
        for number, line in enumerate(cell.source.split("\n"), 1):
            if _has_secret(line[:4096]):
                message = Text(
                    "this line holds what looks like a password or token, and so will the run's notebooks: read it "
                    "from a file of yours (mode 600) or from a variable of the environment",
                    "此行含有疑似密码或令牌的内容，运行的 notebook 也会包含它："
                    "请从自己的文件（权限 600）或环境变量读取",
                )
                findings.append(Finding("secret-in-code", "warning", message, cell.index, number))
    for index in _cells_with_secret_outputs(notebook):
        message = Text(
            "what this cell printed holds what looks like a token. The run's output.ipynb begins without old outputs, "
            "but input.ipynb is your file as it is: clear the cell's outputs and save.",
            "此单元格的输出含有疑似令牌的内容。运行的 output.ipynb 不含旧输出，但 input.ipynb 是您文件的原样副本："
            "请清除该单元格的输出并保存。",
        )
        findings.append(Finding("secret-in-output", "warning", message, index, None))
    return findings


def _has_secret(line: str) -> bool:
    if _TOKEN.search(line):
        return True
    if line.lstrip().startswith("#"):
        return False
    found = (_NAMED.search(line), _IN_ADDRESS.search(line))
    return any(match is not None and not _NOT_MEANT.search(match["value"]) for match in found)


def _cells_with_secret_outputs(notebook: Notebook) -> Iterator[int]:
    if notebook.is_script or len(notebook.content) > _LARGEST:
        return
    cells = json.loads(notebook.content.decode("utf-8-sig"))["cells"]
    for index, cell in enumerate(cells):
        if any(_TOKEN.search(text) for text in _texts(cell.get("outputs"))):
            yield index


def _texts(outputs: Any) -> Iterator[str]:
    for output in outputs if isinstance(outputs, list) else ():
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        for text in (output.get("text"), data.get("text/plain") if isinstance(data, dict) else None):
            if isinstance(text, list):
                text = "".join(map(str, text))
            if isinstance(text, str):
                yield text[:1_000_000]
