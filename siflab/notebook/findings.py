"""What was found in a notebook, and where."""

from dataclasses import dataclass
from typing import Literal

from siflab.text import Text

Severity = Literal["error", "warning", "info"]
FixKind = Literal["replace-line", "delete-line", "set-kernel", "set-field"]
_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Fix:
    """A change that is safe to make without looking. `kind` replace-line: the finding's line of the notebook becomes
    `text`; delete-line: it goes; set-kernel: the notebook's kernel becomes `text`; set-field: the request's `field`
    becomes `text`, as a person would type it."""

    kind: FixKind
    text: str
    title: Text
    field: str | None = None

    def as_dict(self) -> dict[str, object]:
        """The `Fix` of openapi.yaml."""
        return {"kind": self.kind, "text": self.text, "title": self.title.as_dict(), "field": self.field}


@dataclass(frozen=True)
class Finding:
    """`cell` is the index among all cells from 0, `line` is counted within it from 1; None: the notebook as a whole.
    An error keeps a run from being submitted, a warning and an info do not."""

    code: str
    severity: Severity
    message: Text
    cell: int | None = None
    line: int | None = None
    fix: Fix | None = None

    def as_dict(self) -> dict[str, object]:
        """The `Finding` of openapi.yaml."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message.as_dict(),
            "cell": self.cell,
            "line": self.line,
            "fix": self.fix.as_dict() if self.fix else None,
        }


def by_severity(findings: list[Finding]) -> list[Finding]:
    """Most severe first, then in the order of the notebook."""
    return sorted(findings, key=lambda f: (_RANK[f.severity], -1 if f.cell is None else f.cell, f.line or 0))
