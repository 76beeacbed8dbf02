"""The script and style files of Siflab's pages: where they lie, and their addresses."""

import functools
import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
ROUTE = "siflab/static/"


@functools.cache
def _version(name: str) -> str:
    return hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()[:12]


def static_url(base_url: str, name: str) -> str:
    """Below the Hub's `base_url`, with a version, so that a browser may keep the file until it changes."""
    return f"{base_url}{ROUTE}{name}?v={_version(name)}"
