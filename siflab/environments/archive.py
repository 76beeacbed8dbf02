"""This package as one text file that any Python from 3.9 on runs, for images without Siflab.

It goes to a session with the answer to the claim, and to a container that is started on a login node.
"""

from __future__ import annotations

import base64
import io
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

_HERE = Path(__file__).parent
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold
_PROGRAM = '''"""Siflab's environments, carried along: python3 -I environments create|list|..."""
import base64, os, sys, tempfile, zlib

if sys.version_info < (3, 9):
    sys.exit("siflab: environments need Python 3.9 or later in the image, not %%d.%%d; ask for another image / "
             "环境功能需要镜像中有 Python 3.9 或更新版本；请申请其他镜像" %% sys.version_info[:2])
archive = tempfile.NamedTemporaryFile(suffix=".pyz")
archive.write(zlib.decompress(base64.b64decode("""
%s""")))
archive.flush()
sys.path.insert(0, archive.name)
from siflab.environments.command import main
sys.exit(main(sys.argv[1:]))
'''


def build_archive() -> bytes:
    """The bytes of a zip file with this package and what it needs of Siflab. The same sources give the same bytes."""
    entries = {"siflab/__init__.py": b""}
    for name in ("text.py", "errors.py", "ownership.py"):
        entries[f"siflab/{name}"] = (_HERE.parent / name).read_bytes()
    for source in _HERE.glob("*.py"):
        entries[f"siflab/environments/{source.name}"] = source.read_bytes()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return buffer.getvalue()


@lru_cache(1)
def program_text() -> str:
    """The text of the program."""
    packed = base64.b64encode(zlib.compress(build_archive(), 9)).decode("ascii")
    lines = (packed[start : start + 120] for start in range(0, len(packed), 120))
    return _PROGRAM % "".join(f"{line}\n" for line in lines)
