"""What was found in a notebook, and where."""

from dataclasses import dataclass
from typing import Literal

from siflab.text import Text

Severity = Literal["error", "warning", "info"]
_RANK: dict[Severity, int] = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Fix:
    """A change that is safe to make without looking: of the finding's line (`kind` replace-line), to `text`."""

    kind: Literal["replace-line"]
    text: str
    title: Text

    def as_dict(self) -> dict[str, object]:
        return {"kind": self.kind, "text": self.text, "title": self.title.as_dict()}


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
