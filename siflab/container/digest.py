"""What tells one image file from another.

`identity` is cheap, and so is what sessions, runs and environments go by: the digest that site.yaml states, else a
fingerprint of the file. The fingerprint is the SHA-256 of its first 64 KiB (a SIF's header, with the image's UUID and
times, and its table of objects), its last 64 KiB (where squashfs keeps its tables of inodes and fragments, and a
signature lies) and its size. A copy has the same, whatever its name and time; a new build, a signature or a change has
another. It is no proof against forgery: that is what signatures are for. The job's script computes the same with
coreutils (`siflab/script/templates/session.sh`), so that no other program need be on a node.

Sources: the SIF specification (global header of 128 bytes, descriptors from byte 4096); squashfs 4.0's superblock.
"""

import hashlib
import os
import threading
from pathlib import Path

from siflab.config import Image

PIECE = 65536
"""Bytes of each end that the fingerprint covers."""
_known: dict[tuple[str, int, int, int], str] = {}
_at_work: dict[tuple[str, int, int, int], threading.Lock] = {}
_lock = threading.Lock()


def identity(image: Image, path: str | None = None) -> str | None:
    """``sha256:...`` as site.yaml states it, else ``sif:...``, the fingerprint of the file at `path` (as this process
    sees it; the image's own path if left out). None when neither can be had; a sandbox folder has no fingerprint."""
    if image.digest is not None:
        return image.digest
    try:
        return fingerprint(path or image.path)
    except OSError:
        return None


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Reads 128 KiB: a millisecond, or what the file system takes to answer. Raises OSError, for a folder too."""
    with Path(path).open("rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        digest = hashlib.sha256(stream.read(PIECE))
        stream.seek(max(0, size - PIECE))
        digest.update(stream.read(PIECE))
    digest.update(b"%d\n" % size)
    return f"sif:{digest.hexdigest()}"


def sha256_of(path: str | os.PathLike[str]) -> str:
    """``sha256:...`` of the whole file, remembered by path, size, time and inode: 5 GiB take 7 s, so never in an event
    loop. Who asks while another thread computes it waits for that one. Raises OSError."""
    facts = Path(path).stat()
    key = (os.fspath(path), facts.st_size, facts.st_mtime_ns, facts.st_ino)
    with _lock:
        mine = _at_work.setdefault(key, threading.Lock())
    with mine:
        if key not in _known:
            digest = hashlib.sha256()
            with Path(path).open("rb") as stream:
                while piece := stream.read(1 << 20):
                    digest.update(piece)
            _known[key] = f"sha256:{digest.hexdigest()}"
        return _known[key]
