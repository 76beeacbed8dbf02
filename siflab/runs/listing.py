"""The runs of a user: `list_runs`, `get_run`. More runs make no more questions to Slurm."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from siflab.errors import Internal, NotFound
from siflab.runs.evidence import Evidence, ask_accounting, ask_queue
from siflab.runs.folder import RunFolder, find_folder, run_folders
from siflab.runs.points import reading_of
from siflab.runs.reading import kept_run
from siflab.runs.run import Run
from siflab.runs.status import needs_accounting
from siflab.runs.viewer import Viewer
from siflab.text import Text


@dataclass(frozen=True)
class RunList:
    """Newest first. `message` says why when Slurm is not `reachable`, or answers only in part."""

    runs: list[Run]
    reachable: bool
    message: Text | None

    def as_dict(self) -> dict[str, Any]:
        message = self.message.as_dict() if self.message else None
        return {
            "runs": [run.as_dict() for run in self.runs],
            "slurm": {"reachable": self.reachable, "message": message},
        }


def list_runs(viewer: Viewer) -> RunList:
    """All runs of the user. One squeue, and one sacct if jobs have left the queue since the last look."""
    try:
        folders = run_folders(Path(viewer.runs_root()))
    except OSError as error:
        raise _root_unreadable(viewer, error) from error
    evidence = ask_queue(viewer)
    runs = look(viewer, folders, evidence)
    return RunList([run for run, _ in runs], evidence.reachable, runs[0][1].message if runs else evidence.message)


def get_run(viewer: Viewer, run_id: str) -> Run:
    """One run. Raises NotFound."""
    return look(viewer, [folder_of(viewer, run_id)], ask_queue(viewer))[0][0]


def has_ended(viewer: Viewer, folder: RunFolder) -> bool:
    """Whether nothing more is written there; Slurm is asked."""
    return look(viewer, [folder], ask_queue(viewer))[0][0].ended


def look(viewer: Viewer, folders: list[RunFolder], evidence: Evidence) -> list[tuple[Run, Evidence]]:
    """Each run, with the evidence that its state was derived from."""
    kept = [kept_run(viewer, folder, evidence) for folder in folders]
    readings = [None if run else reading_of(viewer, folder) for run, folder in zip(kept, folders, strict=True)]
    jobs = [reading.job_id(evidence) for reading in readings if reading is not None]
    evidence = ask_accounting(viewer, evidence, [job for job in jobs if job and needs_accounting(job, evidence)])
    now = datetime.now().astimezone()
    runs = []
    for run, reading in zip(kept, readings, strict=True):
        if run is None:
            assert reading is not None
            run = reading.run(evidence, now)
        runs.append((run, evidence))
    return runs


def folder_of(viewer: Viewer, run_id: str) -> RunFolder:
    """Raises NotFound."""
    try:
        folder = find_folder(Path(viewer.runs_root()), run_id)
    except OSError as error:
        raise _root_unreadable(viewer, error) from error
    if folder is None:
        raise NotFound(
            Text(
                f"there is no run {run_id}; `siflab runs` lists those that there are",
                f"没有运行 {run_id}；可用 `siflab runs` 查看全部",
            )
        )
    return folder


def _root_unreadable(viewer: Viewer, error: OSError) -> Internal:
    root = viewer.runs_root()
    words = error.strerror or os.strerror(error.errno or 0)
    return Internal(
        Text(
            f"the folder of runs, {root}, cannot be read ({words}); check its permissions",
            f"无法读取运行目录 {root}（{words}）；请检查其权限",
        )
    )
