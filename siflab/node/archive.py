"""node.pyz: this package as one file that any Python from 3.6 on runs. Made on the Hub; it is not in itself."""

import functools
import io
import os
import zipfile

_HERE = os.path.dirname(os.path.abspath(__file__))
_DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip file can hold


@functools.lru_cache(maxsize=1)
def build_archive() -> bytes:
    """The bytes of the archive. The same sources give the same bytes, on any machine: entries are sorted, dated
    alike and not compressed (who sends it compresses the whole: that is smaller, and needs no zlib in the image)."""
    entries = {"siflab/__init__.py": b""}
    for name in os.listdir(_HERE):
        if name.endswith(".py") and name != "archive.py" or name == "client.sh":
            with open(os.path.join(_HERE, name), "rb") as source:
                data = source.read()
            entries["__main__.py" if name == "__main__.py" else "siflab/node/" + name] = data
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in sorted(entries.items()):
            entry = zipfile.ZipInfo(name, _DATE)
            entry.external_attr = 0o100644 << 16
            entry.create_system = 3
            archive.writestr(entry, data)
    return buffer.getvalue()


def profile_script() -> str:
    """The text of profile.sh, which must be there before the container starts."""
    with open(os.path.join(_HERE, "profile.sh"), encoding="utf-8") as source:
        return source.read()
