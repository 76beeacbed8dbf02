"""What a diagnosis is: the `Diagnosis` of openapi.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from siflab.text import Text


@dataclass(frozen=True)
class Place:
    """Where it happened, as far as that is known: `cell` is the index among all cells from 0, `cell_number` the number
    among code cells from 1, `line` that of the cell or of the script."""

    attempt: int | None = None
    node: str | None = None
    rank: int | None = None
    cell: int | None = None
    cell_number: int | None = None
    line: int | None = None

    @property
    def is_one_node(self) -> bool:
        """`node` is a name, not Slurm's notation of several (``gpu[01-02]``)."""
        return self.node is not None and not set("[,") & set(self.node)

    def in_words(self) -> Text | None:
        """``In cell 3, line 2, on rank 1 (gpu01).``; None where neither cell, line nor rank is known."""
        en, zh = [], []
        if self.cell_number is not None:
            en.append(f"in cell {self.cell_number}")
            zh.append(f"第 {self.cell_number} 个单元格")
        if self.line is not None:
            en.append(f"line {self.line}" if en else f"in line {self.line}")
            zh.append(f"第 {self.line} 行")
        if self.rank is not None:
            en.append(f"on rank {self.rank}")
            zh.append(f"rank {self.rank}")
        if not en:
            return None
        node = (f" ({self.node})", f"（{self.node}）") if self.is_one_node else ("", "")
        where = ", ".join(en)
        return Text(f"It was {where}{node[0]}.", f"位置：{'，'.join(zh)}{node[1]}。")


@dataclass(frozen=True)
class Change:
    """A changed resubmission: `request` are fields of a `RunRequest` with their new values; empty: as it was."""

    title: Text
    request: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {"title": self.title.as_dict(), "request": dict(self.request)}


@dataclass(frozen=True)
class Diagnosis:
    """Why a run ended as it did. `cause` is a key of `causes.CAUSES`; `message` says what happened, where, why and what
    to do; `said` is the line of the log or of Slurm by which it was recognised."""

    cause: str
    message: Text
    said: str | None = None
    place: Place = field(default_factory=Place)
    changes: tuple[Change, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        return {
            "cause": self.cause,
            "message": self.message.as_dict(),
            "said": self.said,
            "place": dict(vars(self.place)),
            "changes": [change.as_dict() for change in self.changes],
        }

    @classmethod
    def from_dict(cls, value: Any) -> "Diagnosis | None":
        """As it was kept; None when it is not whole."""
        try:
            return cls(
                cause=str(value["cause"]),
                message=_text(value["message"]),
                said=value["said"],
                place=Place(**value["place"]),
                changes=tuple(Change(_text(one["title"]), dict(one["request"])) for one in value["changes"]),
            )
        except (KeyError, TypeError, ValueError):
            return None


def _text(value: Any) -> Text:
    return Text(str(value["en"]), str(value["zh"]))
