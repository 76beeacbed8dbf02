"""Which run folder is meant: that of a run's id, or one that lies anywhere, such as an unpacked export."""

import os
from pathlib import Path

from siflab.errors import Conflict, NotFound
from siflab.runs.folder import DATA, RunFolder, read_json
from siflab.runs.listing import folder_of
from siflab.runs.viewer import Viewer
from siflab.text import Text


def place_of(viewer: Viewer, run: str | Path) -> RunFolder:
    """`run` is an id, or the path of a folder. Raises NotFound, and Conflict for a folder from elsewhere with links."""
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
    link = _link_in(run)
    if link is not None:
        raise Conflict(
            Text(
                f"{link} is a link: what it leads to is no part of the run, and would be read or changed as if it "
                "were. Remove the link, or ask whoever gave you the folder for an export",
                f"{link} 是链接：它所指向的内容不属于该运行，却会被当作其中的文件读取或更改。"
                "请删除该链接，或请提供者给出导出的归档",
            )
        )
    return folder


def _link_in(run: Path) -> Path | None:
    """The first link among the files of a run; in its folders of data, whose links lead to scratch, none is looked for.
    A folder that cannot be read has none that can be followed."""
    for folder, folders, names in os.walk(run):
        mine = [name for name in folders if name not in DATA]
        for name in (*mine, *names):
            path = Path(folder, name)
            if path.is_symlink() and name not in DATA:
                return path
        folders[:] = mine
    return None


def id_of(folder: RunFolder) -> str:
    """As request.json says, since a folder may have been renamed."""
    told = (read_json(folder.request) or {}).get("id")
    return told if isinstance(told, str) and told else folder.id
