"""runner.pyz: this package as one file that any Python runs, made anew for each run so that nothing need be
installed."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

_MAIN = b"""import sys
from siflab.inside.__main__ import main
sys.exit(main())
"""
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold


def build_archive() -> bytes:
    """The bytes of the archive. The same sources give the same bytes, on any machine: entries are sorted, dated alike
    and not compressed (zlib's output differs between its versions). Besides `siflab.inside` it holds
    ``siflab/__init__.py``, so that ``import siflab; siflab.record(...)`` works in an image that has nothing of
    Siflab."""
    inside = Path(__file__).parent
    entries = {"__main__.py": _MAIN, "siflab/__init__.py": (inside.parent / "__init__.py").read_bytes()}
    for source in inside.glob("*.py"):
        entries[f"siflab/inside/{source.name}"] = source.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return buffer.getvalue()
