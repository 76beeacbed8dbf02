"""Messages to people, in the languages that Siflab speaks.

A message is written where it arises, in both languages side by side, so that neither can be forgotten and a reviewer
sees both. What reads it (the Hub's pages, the REST API, the command line) picks the language of its reader.
"""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """One message in English and in Chinese (simplified)."""

    en: str
    zh: str

    @classmethod
    def plain(cls, words: str) -> "Text":
        """A message that is the same in every language: a name, a number, words of another program."""
        return cls(words, words)

    def to(self, language: str) -> str:
        """In `language`, a tag or locale such as ``zh-CN``, ``zh_CN.UTF-8`` or ``en``; any but Chinese gets English."""
        return self.zh if language.lower().startswith("zh") else self.en

    def as_dict(self) -> dict[str, str]:
        """The form in which REST answers carry it."""
        return {"en": self.en, "zh": self.zh}

    def __add__(self, other: "Text") -> "Text":
        """Both one after the other; English is set apart by a blank, Chinese by nothing."""
        return Text(f"{self.en} {other.en}", f"{self.zh}{other.zh}")

    def __str__(self) -> str:
        return self.en


def terminal_language() -> str:
    """``zh`` or ``en``, from SIFLAB_LANG, else as gettext does from LANGUAGE, LC_ALL, LC_MESSAGES and LANG."""
    for name in ("SIFLAB_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(name, "")
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def header_language(accept_language: str) -> str:
    """``zh`` or ``en``, whichever an Accept-Language header (RFC 9110, 12.5.4) ranks higher; English if neither."""
    best, best_rank = "en", 0.0
    for part in accept_language.split(","):
        tag, _, parameters = part.strip().partition(";")
        language = tag.strip().lower().partition("-")[0]
        if language not in ("en", "zh"):
            continue
        try:
            rank = float(parameters.partition("q=")[2] or 1)
        except ValueError:
            continue
        if rank > best_rank:
            best, best_rank = language, rank
    return best
