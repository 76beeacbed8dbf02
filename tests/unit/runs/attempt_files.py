"""What an attempt leaves: written here as job.sh and the runner do it."""

import json
from datetime import datetime
from pathlib import Path

from siflab.inside import Failure, Progress, Result
from siflab.inside.progress import replace_json
from siflab.inside.result import write_result
from siflab.runs.folder import RunFolder

NOW = datetime(2026, 12, 1, 3, 11, 19).astimezone().isoformat()
"""As in fake_slurm.ENDED, which is in the time of this machine."""


def begin(run: str | Path, job_id: str, number: int = 1, cells: int = 3, done: int = 1) -> RunFolder:
    """The attempt of `job_id` runs."""
    folder = RunFolder(Path(run))
    attempt = folder.attempt(number)
    attempt.make()
    began = {"job_id": job_id, "node": "gpu01", "restart_count": number - 1, "started_at": NOW}
    (attempt.folder / "job.json").write_text(json.dumps(began))
    replace_json(attempt.progress, vars(Progress(cells, done, done + 1, done, "running", NOW)))
    attempt.output.write_bytes(folder.input.read_bytes())
    attempt.run_log.write_text("siflab: run\nprinted\n")
    return folder


def end(
    folder: RunFolder,
    status: str = "completed",
    *,
    number: int = 1,
    code: int = 0,
    signal: int | None = None,
    error: Failure | None = None,
    problem: str = "",
    last_word: bool = True,
    result: bool = True,
) -> None:
    """And has ended: with the runner's result, and the last word of job.sh."""
    attempt = folder.attempt(number)
    if result:
        message = {"en": f"it {status}", "zh": f"结果 {status}"}
        write_result(
            attempt, Result(status, code, NOW, NOW, 3, 3 if status == "completed" else 1, error, signal, message)
        )
    if last_word:
        ended = {"exit_code": code, "problem": problem, "step_exit_code": code, "ended_at": NOW}
        (attempt.folder / "end.json").write_text(json.dumps(ended))


def just_now() -> str:
    """As Slurm prints it."""
    return f"{datetime.now():%Y-%m-%dT%H:%M:%S}"
