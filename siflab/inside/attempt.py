"""Where the files of one attempt lie, and the time in the form in which they carry it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class AttemptFolder:
    """``RUNFOLDER/attempts/K``, or for a point of a sweep ``RUNFOLDER/points/N/attempts/K``: all that one start by
    Slurm leaves (a requeue makes another)."""

    run: Path
    number: int
    point: int | None = None
    """Number of the point of a sweep, from 0 (the array task's id); None for a run that is no sweep."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "run", Path(self.run))

    @property
    def place(self) -> Path:
        """What all attempts share: the run folder, or the point's."""
        return self.run if self.point is None else self.run / "points" / str(self.point)

    @property
    def folder(self) -> Path:
        return self.place / "attempts" / str(self.number)

    @property
    def is_linked(self) -> bool:
        """Whether the folder lies elsewhere in truth: what is there is not written to by whoever looks at the run."""
        above = () if self.point is None else (self.place, self.place.parent)
        return any(folder.is_symlink() for folder in (self.folder, self.folder.parent, *above))

    @property
    def output(self) -> Path:
        return self.folder / "output.ipynb"

    @property
    def journal(self) -> Path:
        return self.folder / "outputs.jsonl"

    @property
    def progress(self) -> Path:
        return self.folder / "progress.json"

    @property
    def result(self) -> Path:
        return self.folder / "result.json"

    @property
    def recovery(self) -> Path:
        return self.folder / "recovery.json"

    @property
    def metrics(self) -> Path:
        return self.folder / "metrics.jsonl"

    @property
    def run_log(self) -> Path:
        return self.folder / "logs" / "run.log"

    @property
    def kernel_log(self) -> Path:
        return self.folder / "logs" / "kernel.log"

    @property
    def stop(self) -> Path:
        """Is there from the moment at which the run was asked to stop; `checkpoint.stop_requested` looks for it."""
        return self.folder / "stop"

    @property
    def heeds_stop(self) -> Path:
        """Is there when the notebook has asked `checkpoint.stop_requested` at least once."""
        return self.folder / "heeds-stop"

    @property
    def stop_answers(self) -> Path:
        """What the notebook did since it was asked to stop; words, see `stopping`."""
        return self.folder / "stop-answers"

    @property
    def reserve(self) -> Path:
        """A file that only holds space, for the last words of a run on a full disk."""
        return self.folder / ".reserve"

    @property
    def input(self) -> Path:
        return self.run / "input.ipynb"

    @property
    def request(self) -> Path:
        return self.run / "request.json"

    @property
    def checkpoints(self) -> Path:
        """The same folder over all attempts, and so are the next two; each may be a link to the site's scratch."""
        return self.place / "checkpoints"

    @property
    def outputs(self) -> Path:
        """$OUTPUT_DIR: what the notebook writes."""
        return self.place / "outputs"

    @property
    def tensorboard(self) -> Path:
        """$LOG_DIR."""
        return self.place / "tensorboard"

    def variables(self, run_id: str) -> dict[str, str]:
        """For the environment of what runs: where `siflab.record` and `siflab.checkpoint` write. The batch script may
        have put the folders elsewhere."""
        places = {"CHECKPOINT_DIR": self.checkpoints, "OUTPUT_DIR": self.outputs, "LOG_DIR": self.tensorboard}
        ours = {"SIFLAB_RUN_FOLDER": str(self.run), "SIFLAB_RUN_ID": run_id, "SIFLAB_ATTEMPT": str(self.number)}
        if self.point is not None:
            ours["SIFLAB_POINT"] = str(self.point)
        return {**{name: os.environ.get(name) or str(path) for name, path in places.items()}, **ours}

    def make(self) -> None:
        self.run_log.parent.mkdir(parents=True, exist_ok=True)


def attempt_numbers(place: Path | str) -> list[int]:
    """The attempts that have a folder, in order, of a run or of a point's folder; empty before the job has begun."""
    return _numbers(Path(place) / "attempts")


def point_numbers(run: Path | str) -> list[int]:
    """The points of a sweep that have a folder, in order."""
    return _numbers(Path(run) / "points")


def _numbers(folder: Path) -> list[int]:
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    return sorted(int(name) for name in names if name.isascii() and name.isdigit())


def now() -> str:
    """This moment in ISO 8601, local time with its offset, to the millisecond."""
    return datetime.now().astimezone().isoformat(timespec="milliseconds")


def read_json(path: Path) -> dict[str, Any] | None:
    """A JSON object of one of the files above; None when it is not there, cannot be read, or (on a file system without
    atomic replace between machines) is not whole at this moment."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
