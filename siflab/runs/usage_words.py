"""What a rule says."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from siflab.text import Text


@dataclass(frozen=True)
class Said:
    """`request`: fields of a rerun's request, with the values to try."""

    code: str
    text: Text
    request: Mapping[str, str | int] = field(default_factory=dict)


def both(en: str, zh: str, *parts: Text, **values: object) -> Text:
    """Two texts filled in: ``{0}`` is the first of `parts`, each in its own language; values are the same in both."""
    return Text(
        en.format(*(part.en for part in parts), **values),
        zh.format(*(part.zh for part in parts), **values),
    )
