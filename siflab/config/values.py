"""Values of site.yaml as pydantic types: what a person writes becomes a number once, here."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer

from siflab.slurm.memory import format_memory, parse_memory
from siflab.slurm.time import format_time, parse_time
from siflab.text import Text


class Strict(BaseModel):
    """A mapping of site.yaml: no unknown keys, and nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


def _seconds(value: Any) -> int:
    """YAML 1.1 reads an unquoted ``2:00:00`` as the number 7200 (base 60), so a whole number can only be seconds if it
    came so; but ``90`` is 90 minutes for Slurm. Only the forms with a colon or a day are unambiguous, so they are what
    is asked for; a loader that keeps ``2:00:00`` a string is used (see load.py)."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("a time in Slurm's notation is expected, such as 2:00:00 or 1-00:00:00")
    seconds = parse_time(str(value))
    if seconds <= 0:
        raise ValueError("a time must be longer than 0")
    return seconds


def _mebibytes(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("an amount of memory is expected, such as 16G")
    mib = parse_memory(str(value))
    if mib <= 0:
        raise ValueError("memory must be more than 0")
    return mib


def _text(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, str) and value.strip():
        return Text.plain(value)
    if (
        isinstance(value, dict)
        and value
        and set(value) <= {"en", "zh"}
        and all(isinstance(v, str) for v in value.values())
    ):
        english, chinese = value.get("en"), value.get("zh")
        return Text(english or chinese or "", chinese or english or "")
    raise ValueError('a text is expected, or one for each language: {en: "...", zh: "..."}')


Seconds = Annotated[int, BeforeValidator(_seconds), PlainSerializer(format_time, return_type=str)]
Mebibytes = Annotated[int, BeforeValidator(_mebibytes), PlainSerializer(format_memory, return_type=str)]
Words = Annotated[Text, BeforeValidator(_text), PlainSerializer(lambda text: text.as_dict(), return_type=dict)]
