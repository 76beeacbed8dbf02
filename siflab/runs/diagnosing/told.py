"""What is told of a cause; `words.facts_of` fills in the ``{names}``."""

from dataclasses import dataclass

from siflab.text import Text


@dataclass(frozen=True)
class Told:
    """`what` happened comes before the place; `then`, why and what to do, after it."""

    what: Text
    then: Text


def told(en: str, zh: str, then_en: str, then_zh: str) -> Told:
    return Told(Text(en, zh), Text(then_en, then_zh))
