"""A run that stopped, failed or was cancelled goes on: its own job.sh once more, in the same folder.

Its attempts count on, and its checkpoints are where they were.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from time import sleep
from typing import Any

from siflab.errors import Conflict, Internal, SlurmUnreachable
from siflab.runs.evidence import ask_queue
from siflab.runs.folder import ABANDONED, RunFolder, read_json, write_json
from siflab.runs.listing import folder_of, get_run
from siflab.runs.run import Run
from siflab.runs.submission import find_late, sbatch_argv, unanswered
from siflab.runs.viewer import Viewer
from siflab.slurm.answers import parse_job_id, refused
from siflab.slurm.execute import require_reachable
from siflab.text import Text

_MARK = ".resuming"


def resume(viewer: Viewer, run_id: str, wait: Callable[[float], None] = sleep) -> Run:
    """The run, with its new job. Raises NotFound, Conflict when it goes on, completed, is a sweep, or is being resumed
    by another process; SlurmRefused, Invalid, SlurmUnreachable."""
    folder = folder_of(viewer, run_id)
    with _alone(folder):
        _check(viewer, folder)
        before = read_json(folder.submission) or {}
        known = [str(job) for job in [before.get("job_id"), *(before.get("earlier_jobs") or [])] if job]
        evidence = ask_queue(viewer)
        if not evidence.reachable:  # a job that was submitted by hand could be running
            raise SlurmUnreachable(evidence.message or Text("Slurm does not answer", "Slurm 没有回应"))
        mark = evidence.job_of(run_id)
        known += [mark] if mark is not None and mark not in known else []
        job_id = _submit(viewer, folder, known, wait)
        now = datetime.now().astimezone().isoformat(timespec="milliseconds")
        told: dict[str, Any] = {**before, "job_id": job_id, "earlier_jobs": known, "requested_at": now}
        with suppress(OSError):  # the job's comment names the run
            write_json(folder.submission, told)
    return get_run(viewer, run_id)


def _check(viewer: Viewer, folder: RunFolder) -> None:
    run = get_run(viewer, folder.id)
    if run.mode == "sweep":
        raise Conflict(
            Text(
                f"a sweep is not resumed as a whole: `siflab points {run.id} --rerun-failed` runs what failed",
                f"参数扫描不能整体继续：请用 `siflab points {run.id} --rerun-failed` 重新运行失败的点",
            )
        )
    if run.state == "completed":
        raise Conflict(
            Text(
                f"the run {run.id} has completed; `siflab rerun {run.id}` repeats it",
                f"运行 {run.id} 已完成；可用 `siflab rerun {run.id}` 重新运行",
            )
        )
    if not run.ended and run.state != "not_submitted":
        state = run.state_text
        raise Conflict(
            Text(
                f"the run {run.id} has not ended ({state.en}); cancel it, or wait",
                f"运行 {run.id} 尚未结束（{state.zh}）；请取消或等待",
            )
        )


def _submit(viewer: Viewer, folder: RunFolder, known: list[str], wait: Callable[[float], None]) -> str:
    try:
        script = folder.script.read_text("utf-8", "surrogateescape")
    except OSError as error:
        words = error.strerror or str(error)
        raise Internal(Text(f"job.sh cannot be read ({words})", f"无法读取 job.sh（{words}）")) from error
    done = viewer.slurm.run(sbatch_argv(), stdin=script, cwd=str(folder.path))
    job_id = parse_job_id(done.stdout) if done.ok else None
    if job_id is None and (done.ok or done.unreachable):
        if done.not_run:
            require_reachable(done)
        job_id = find_late(viewer, folder.id, wait, known)
        if job_id is None:
            raise unanswered(done, folder)
    if job_id is None:
        raise refused(done.stderr)
    return job_id


@contextmanager
def _alone(folder: RunFolder) -> Iterator[None]:
    """Two presses of a button are one job. What a killed process left is taken over after two minutes."""
    mark = folder.path / _MARK
    with suppress(OSError):
        if time.time() - mark.stat().st_mtime > ABANDONED:
            mark.unlink()
    try:
        os.close(os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    except FileExistsError as error:
        raise Conflict(Text(f"the run {folder.id} is just being resumed", f"运行 {folder.id} 正在被继续")) from error
    except OSError as error:
        words = error.strerror or str(error)
        raise Internal(
            Text(f"{folder.path} cannot be written ({words})", f"无法写入 {folder.path}（{words}）")
        ) from error
    try:
        yield
    finally:
        with suppress(OSError):
            mark.unlink()
