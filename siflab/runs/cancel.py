"""Cancelling a run."""

from siflab.errors import Conflict, SlurmRefused
from siflab.runs.folder import read_json
from siflab.runs.listing import folder_of, get_run
from siflab.runs.run import Run
from siflab.runs.viewer import Viewer
from siflab.slurm.answers import as_job_id
from siflab.slurm.commands import scancel
from siflab.slurm.execute import require_reachable
from siflab.text import Text

_GONE = ("invalid job id", "already completed", "already completing or completed")
"""What scancel says of a job that has ended, or is about to."""


def cancel(viewer: Viewer, run_id: str) -> Run:
    """scancel, and the run as it is right after it: a running notebook gets some seconds to save what it has. A run
    that has ended stays as it is. Raises NotFound, Conflict, SlurmUnreachable, SlurmRefused."""
    run = get_run(viewer, run_id)
    if run.ended:
        return run
    if run.job_id is None:
        raise Conflict(
            Text(
                f"it is not known yet whether Slurm took the run {run_id}; try again in a minute",
                f"尚不确定 Slurm 是否已接受运行 {run_id}；请一分钟后再试",
            )
        )
    arrays = (read_json(folder_of(viewer, run_id).submission) or {}).get("arrays") or []
    found = (as_job_id(array.get("job_id")) for array in arrays if isinstance(array, dict))
    jobs = [run.job_id, *(job_id for job_id in found if job_id is not None)]
    done = require_reachable(viewer.slurm.run(scancel(list(dict.fromkeys(jobs)))))
    if not done.ok and not any(words in done.stderr.lower() for words in _GONE):
        words = done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else f"exit code {done.returncode}"
        raise SlurmRefused(
            Text(f"Slurm did not cancel the job {run.job_id}: {words}", f"Slurm 没有取消作业 {run.job_id}：{words}")
        )
    return get_run(viewer, run_id)
