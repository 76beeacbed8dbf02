"""The id of a run and the name of its folder: made by us, plain ASCII, whatever a notebook is called."""

import hashlib
import re
import secrets
import unicodedata
from datetime import datetime
from pathlib import PurePath

_LETTERS = "abcdefghjkmnpqrstuvwxyz"
_ALPHABET = _LETTERS + "23456789"  # nothing that is mistaken for another (0 o 1 l i)
_LENGTH = 8
FOLDER = re.compile(r"\d{8}-\d{6}_[a-z0-9-]{1,40}_(?P<id>[a-z][a-z0-9]{7})")
"""``<time>_<name>_<id>``; the id begins with a letter, so that it is not taken for a job's."""


def new_id(submit_key: str | None = None, user: str = "") -> str:
    """A random id; with a submit key always the same one for a user, which makes submitting idempotent."""
    if submit_key is None:
        return secrets.choice(_LETTERS) + "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH - 1))
    number = int.from_bytes(hashlib.sha256(f"{user}\0{submit_key}".encode()).digest(), "big")
    number, first = divmod(number, len(_LETTERS))
    letters = [_LETTERS[first]]
    for _ in range(_LENGTH - 1):
        number, rest = divmod(number, len(_ALPHABET))
        letters.append(_ALPHABET[rest])
    return "".join(letters)


def slug(name: str) -> str:
    """A name as lower-case ASCII words, for folders and for squeue; ``notebook`` when nothing of it is ASCII."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode("ascii")
    words = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-").lower()
    return words[:40].strip("-") or "notebook"


def folder_name(run_id: str, name: str, created: datetime) -> str:
    return f"{created:%Y%m%d-%H%M%S}_{slug(name)}_{run_id}"


def title_of(name: str | None, path: str) -> str:
    """The name that a person gave, else that of the notebook without its ending."""
    given = (name or "").strip()
    return given or PurePath(path).name.removesuffix(".ipynb").removesuffix(".py") or "notebook"
