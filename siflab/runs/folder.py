"""A run folder: where its files lie, and how they are read and written.

Each file has one writer, and is replaced atomically: request.json, submission.json, job.sh, input.ipynb (or input.py),
environment.json, runner.pyz, run.json and git.diff by who submits; attempts/K/job.json and end.json by job.sh; the rest
of attempts/K by the runner (see `siflab.inside`); status.json, which only keeps what can be derived again, by whoever
looks first after the end.
"""

import json
import os
import secrets
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siflab.inside import AttemptFolder, attempt_numbers
from siflab.runs.naming import FOLDER

MAKING = ".making-"
"""What the name of a run folder begins with that is not complete yet; the run's id follows."""
ABANDONED = 120.0
"""Seconds after which such a folder belongs to a process that was killed."""
_REMOVED = ".removed-"
DATA = ("checkpoints", "outputs", "tensorboard")
"""Folders of what a run's own code writes, in the run's folder or a point's; links, where the site has a scratch."""


@dataclass(frozen=True)
class RunFolder:
    """`path` is as the viewer sees it."""

    path: Path

    @property
    def id(self) -> str:
        match = FOLDER.fullmatch(self.path.name)
        return match["id"] if match else self.path.name

    @property
    def request(self) -> Path:
        return self.path / "request.json"

    @property
    def submission(self) -> Path:
        return self.path / "submission.json"

    @property
    def script(self) -> Path:
        return self.path / "job.sh"

    @property
    def input(self) -> Path:
        """The snapshot of the notebook."""
        return self.path / "input.ipynb"

    @property
    def input_script(self) -> Path:
        """The snapshot of the script, where it is one that runs."""
        return self.path / "input.py"

    @property
    def points(self) -> Path:
        """The parameters of a sweep's points: {"points": [{"number": 0, "parameters": {...}}, ...]}."""
        return self.path / "points.json"

    @property
    def points_status(self) -> Path:
        """What was found of points that are over; by whoever looks."""
        return self.path / "points-status.json"

    def job_log(self) -> Path | None:
        """What Slurm itself said of the newest job (`siflab.script.run.LOG`)."""
        found = []
        with suppress(OSError):
            found = [(path.stat().st_mtime_ns, path) for path in self.path.glob("*-*.out")]
        return max(found)[1] if found else None

    @property
    def environment(self) -> Path:
        """What the person's own environment was when the run was submitted; there only for a run that uses one."""
        return self.path / "environment.json"

    @property
    def provenance(self) -> Path:
        """Where the run comes from (`siflab.runs.provenance`), written once, right after it was submitted."""
        return self.path / "run.json"

    @property
    def git_diff(self) -> Path:
        """What was not committed in the notebook's repository."""
        return self.path / "git.diff"

    @property
    def runner(self) -> Path:
        return self.path / "runner.pyz"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def attempts(self) -> Path:
        return self.path / "attempts"

    def attempt(self, number: int) -> AttemptFolder:
        return AttemptFolder(self.path, number)

    def attempt_numbers(self) -> list[int]:
        try:
            return attempt_numbers(self.path)
        except OSError:
            return []

    def remove(self) -> None:
        """Take it away; nobody sees it half gone."""
        hidden = self.path.with_name(f"{_REMOVED}{secrets.token_hex(4)}")
        with suppress(OSError):
            self.path.rename(hidden)
            shutil.rmtree(hidden, ignore_errors=True)


def run_folders(root: Path) -> list[RunFolder]:
    """All run folders under `root`, newest first; other files and folders are left alone. Raises OSError when the root
    is there but cannot be read."""
    try:
        with os.scandir(root) as entries:
            names = [entry.name for entry in entries if FOLDER.fullmatch(entry.name)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [RunFolder(root / name) for name in sorted(names, reverse=True)]


def find_folder(root: Path, run_id: str) -> RunFolder | None:
    return next((folder for folder in run_folders(root) if folder.id == run_id), None)


def sweep(root: Path) -> None:
    """Take away folders that a killed process left half made or half removed."""
    for pattern in (f"{MAKING}*", f"{_REMOVED}*"):
        for path in root.glob(pattern):
            with suppress(OSError):
                if time.time() - path.lstat().st_mtime <= ABANDONED:
                    continue
                if path.is_symlink() or not path.is_dir():
                    path.unlink()
                shutil.rmtree(path, ignore_errors=True)


def write_file(path: Path, data: bytes, mode: int = 0o600, sync: bool = True) -> None:
    """Replace a file atomically; `sync`: brought to the disk. Raises OSError, and leaves nothing then."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            if sync:
                os.fsync(stream.fileno())
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink()
        raise


def write_json(path: Path, value: dict[str, Any], sync: bool = True) -> None:
    try:
        data = json.dumps(value, ensure_ascii=False, indent=1).encode("utf-8")
    except UnicodeEncodeError:  # a file name that is no UTF-8
        data = json.dumps(value, indent=1).encode("ascii")
    write_file(path, data + b"\n", sync=sync)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file; None when there is none, or it is not whole or not ours."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
