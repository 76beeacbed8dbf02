"""Which run folder is meant: that of a run's id, or one that lies anywhere, such as an unpacked export."""

from pathlib import Path

from siflab.errors import NotFound
from siflab.runs.folder import RunFolder, read_json
from siflab.runs.listing import folder_of
from siflab.runs.viewer import Viewer
from siflab.text import Text


def place_of(viewer: Viewer, run: str | Path) -> RunFolder:
    """`run` is an id, or the path of a folder. Raises NotFound."""
    if isinstance(run, str):
        return folder_of(viewer, run)
    folder = RunFolder(run)
    if read_json(folder.request) is None:
        raise NotFound(
            Text(
                f"{run} is no run folder: it has no request.json that can be read",
                f"{run} 不是运行目录：其中没有可读取的 request.json",
            )
        )
    return folder


def id_of(folder: RunFolder) -> str:
    """As request.json says, since a folder may have been renamed."""
    told = (read_json(folder.request) or {}).get("id")
    return told if isinstance(told, str) and told else folder.id
