"""Which run is meant by what a person typed: an id, its beginning, or the id of its job."""

from pathlib import Path

from siflab.cli.terminal import pick
from siflab.errors import FieldError, Invalid, NotFound
from siflab.runs import Viewer, list_runs
from siflab.runs.folder import run_folders
from siflab.text import Text


def find_id(viewer: Viewer, typed: str) -> str:
    """Raises NotFound, or Invalid when several runs begin so."""
    known = [folder.id for folder in run_folders(Path(viewer.runs_root()))]
    matching = [run_id for run_id in known if run_id.startswith(typed)] if typed else []
    if typed in matching or len(matching) == 1:
        return typed if typed in matching else matching[0]
    if typed.isdigit():
        matching = [run.id for run in list_runs(viewer).runs if run.job_id == typed]
        if len(matching) == 1:
            return matching[0]
    if matching:
        listed = ", ".join(matching[:8])
        raise Invalid(
            [
                FieldError(
                    "id",
                    "ambiguous",
                    Text(f"several runs begin with {typed}: {listed}", f"有多个运行以 {typed} 开头：{listed}"),
                )
            ]
        )
    raise NotFound(
        Text(
            f"there is no run {typed}; `siflab runs --all` lists those that there are",
            f"没有运行 {typed}；可用 `siflab runs --all` 查看全部",
        )
    )


def find_run(viewer: Viewer, typed: str) -> str | Path:
    """An id, as `find_id` has it, or the path of a run folder: what has a slash in it, or is a folder here."""
    path = Path(typed)
    if "/" in typed or (path / "request.json").is_file():
        return path.absolute()
    return find_id(viewer, typed)


def nothing_yet() -> str:
    return pick("no runs yet; begin with `siflab promote NOTEBOOK`", "还没有运行；可用 `siflab promote NOTEBOOK` 提交")
