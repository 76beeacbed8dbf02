"""What a session's job carries along to its node: the shim, the bridge and the bridge's clients.

Standard library only, Python 3.6 or later. The modules travel as one zip archive, `node.pyz`, in the job's
script, and import each other as top-level modules of that archive; siflab itself is on no node. `archive()` builds it.
"""

import io
import os
import zipfile

_MODULES = ("__main__", "shim", "claiming", "listening", "bridge", "wire", "scrub", "options", "client")


def archive() -> bytes:
    """The bytes of node.pyz; the same sources give the same bytes."""
    folder = os.path.dirname(os.path.abspath(__file__))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as pyz:
        for name in _MODULES:
            with open(os.path.join(folder, name + ".py"), "rb") as source:
                info = zipfile.ZipInfo(name + ".py", date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                pyz.writestr(info, source.read())
    return buffer.getvalue()


def client_script() -> str:
    """The text of the sh program that stands for sbatch, squeue and the rest in the container."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "client.sh"), encoding="utf-8") as source:
        return source.read()
