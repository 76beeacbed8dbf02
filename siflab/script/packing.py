"""What a job's script carries along, as text."""

import base64
import functools
import gzip

_LINE = 120


@functools.lru_cache(maxsize=4)
def packed(data: bytes) -> str:
    """For ``base64 -d | gzip -d``: Slurm keeps a job's script in its state, and at some sites in its database. The text
    is kept: every start of a session carries the same."""
    text = base64.b64encode(gzip.compress(data, 9, mtime=0)).decode("ascii")
    return "\n".join(text[start : start + _LINE] for start in range(0, len(text), _LINE))
