"""Handing a run to Slurm, once: its folder is complete before sbatch is called, the job id is written right after.

Nothing is left of a request that is invalid or that Slurm refuses. When sbatch gives no answer the job may be there all
the same: its comment is looked for before anything is said.
"""

import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest
from pathlib import Path
from time import monotonic, sleep

from siflab.errors import Internal, SlurmUnreachable
from siflab.inside import build_archive
from siflab.ownership import is_ours_alone
from siflab.runs.evidence import ask_queue
from siflab.runs.folder import ABANDONED, MAKING, RunFolder, find_folder, read_json, sweep, write_file, write_json
from siflab.runs.listing import get_run
from siflab.runs.naming import new_id
from siflab.runs.preparation import Prepared, prepare
from siflab.runs.provenance import Recorder
from siflab.runs.request import RunRequest
from siflab.runs.run import Run
from siflab.runs.sweep import Chunk, chunks
from siflab.runs.viewer import Viewer
from siflab.script.run import RunPlan, render_run
from siflab.slurm.answers import parse_job_id, refused
from siflab.slurm.array_limits import read_array_limits
from siflab.slurm.commands import scancel
from siflab.slurm.execute import Completed, require_reachable
from siflab.text import Text

LATE = 20.0
"""Seconds in which an sbatch whose answer was lost may still make its job appear."""
_AGAIN, _PATIENCE = 1.0, 5.0
"""Seconds between two looks for it, and that one look may take."""
_SBATCH, _SOON = 5.0, 0.1
"""Seconds that another process may take for its sbatch, and between two looks at it."""


def sbatch_argv(test_only: bool = False) -> list[str]:
    """The script, which says all that is asked for, goes to standard input: the path of a session is not the host's."""
    return ["sbatch", "--test-only"] if test_only else ["sbatch", "--parsable"]


def submit(
    viewer: Viewer, request: RunRequest, wait: Callable[[float], None] = sleep, *, snapshot: str | None = None
) -> Run:
    """The run, with its job id.

    With a `submit_key` a second call answers with the run of the first, also when both come at the same moment. Raises
    Invalid, SlurmRefused (nothing is left behind), SlurmUnreachable, Internal (the disk). With `script_only` the folder
    is made and Slurm is not asked. A `snapshot` is run in the place of the request's file, whatever preflight says.
    """
    root = Path(viewer.runs_root())
    run_id = new_id(request.submit_key, viewer.user)
    if request.submit_key is not None and find_folder(root, run_id) is not None:
        return _made_by_another(viewer, root, run_id, wait)
    prepared = prepare(viewer, request, findings_block=snapshot is None, snapshot=snapshot)
    arrays = _arrays(viewer, prepared)
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        _require_own(root)
        sweep(root)
        making = _reserve(root, run_id, wait)
        if making is None:
            return _made_by_another(viewer, root, run_id, wait)
        recorder = Recorder(viewer, prepared)
        plans, folder = _make(viewer, root, making, prepared, run_id, arrays)
    except OSError as error:
        raise _cannot_write(root, error) from error
    try:
        if not request.script_only:
            _hand_over(viewer, folder, plans, request, wait)
    finally:
        recorder.write(folder)
    return get_run(viewer, run_id)


def _arrays(viewer: Viewer, prepared: Prepared) -> list[Chunk]:
    """The job arrays of a sweep, as the cluster's limits allow; one for everything else."""
    if not prepared.points:
        return [Chunk(0, 0)]
    resources = prepared.resources
    limits = read_array_limits(viewer.slurm, viewer.user, resources.account, resources.qos)
    return chunks(len(prepared.points), limits)


def _reserve(root: Path, run_id: str, wait: Callable[[float], None]) -> Path | None:
    """A folder that only we fill; None when another process has just made this run. Raises FileExistsError when what
    is there neither becomes a run nor can be taken away."""
    making, waited = root / f"{MAKING}{run_id}", 0.0
    while True:
        try:
            making.mkdir(mode=0o700)
        except FileExistsError:
            if find_folder(root, run_id) is not None:
                return None
            if waited > ABANDONED + _SBATCH:
                raise
            wait(_SOON)
            waited += _SOON
            sweep(root)
            continue
        if find_folder(root, run_id) is None:
            return making
        shutil.rmtree(making, ignore_errors=True)
        return None


def _made_by_another(viewer: Viewer, root: Path, run_id: str, wait: Callable[[float], None]) -> Run:
    """The run of an earlier call; one that is calling sbatch at this moment is waited for."""
    folder, waited = find_folder(root, run_id), 0.0
    while folder is not None and waited < _SBATCH and (read_json(folder.submission) or {}).get("job_id") is None:
        wait(_SOON)
        waited += _SOON
        folder = find_folder(root, run_id)
    return get_run(viewer, run_id)


def _make(
    viewer: Viewer, root: Path, making: Path, prepared: Prepared, run_id: str, arrays: list[Chunk]
) -> tuple[list[RunPlan], RunFolder]:
    """All files, then one rename: nobody sees a run folder that is not complete. When it raises, nothing is left."""
    beside, created = RunFolder(making), datetime.now().astimezone()
    try:
        whole = prepared.plan(viewer, run_id, created)
        names = ["job.sh", *(f"job-{number}.sh" for number in range(2, len(arrays) + 1))]
        plans = [
            replace(whole, points=array.count, offset=array.offset, script=name)
            for array, name in zip(arrays, names, strict=True)
        ]
        write_file(beside.input_script if prepared.notebook.is_script else beside.input, prepared.notebook.content)
        write_file(beside.runner, build_archive())
        for plan in plans:
            write_file(making / plan.script, render_run(plan).encode("utf-8", "surrogateescape"), 0o700)
        if prepared.points:
            points = [{"number": number, "parameters": values} for number, values in enumerate(prepared.points)]
            write_json(beside.points, {"points": points})
        if prepared.kernel_choice.environment is not None:
            write_json(beside.environment, prepared.kernel_choice.environment.record())
        write_json(beside.request, prepared.request_json(viewer, whole, created))
        write_json(beside.submission, _submission(plans, prepared.request))
        folder = RunFolder(root / Path(whole.folder).name)
        making.rename(folder.path)
    except BaseException:
        shutil.rmtree(making, ignore_errors=True)
        raise
    return plans, folder


def _submission(plans: list[RunPlan], request: RunRequest, job_ids: Sequence[str] = ()) -> dict[str, object]:
    """submission.json: the submit id (what the job's comment has) before sbatch, the job id after; none follows where
    only the script was asked for. Of a sweep `arrays` has each array with its points."""
    now = None if request.script_only else datetime.now().astimezone().isoformat(timespec="milliseconds")
    known: dict[str, object] = {"submit_id": plans[0].run_id, "submit_key": request.submit_key, "requested_at": now}
    if plans[0].points:
        known["arrays"] = [
            {"job_id": job_id, "offset": plan.offset, "points": plan.points}
            for job_id, plan in zip_longest(job_ids, plans)
        ]
    return {**known, "job_id": next(iter(job_ids), None)}


def _hand_over(
    viewer: Viewer, folder: RunFolder, plans: list[RunPlan], request: RunRequest, wait: Callable[[float], None]
) -> None:
    """Each script to sbatch; where a sweep needs several arrays one begins after the other, so that no more points run
    at once than were asked for."""
    job_ids: list[str] = []
    for plan in plans:
        after = [f"--dependency=afterany:{job_ids[-1]}"] if job_ids else []
        script = (folder.path / plan.script).read_text("utf-8", "surrogateescape")
        done = viewer.slurm.run([*sbatch_argv(), *after], stdin=script, cwd=str(folder.path))
        job_id = parse_job_id(done.stdout) if done.ok else None
        if job_id is None and (done.ok or done.unreachable):
            if done.not_run and not job_ids:
                folder.remove()
                require_reachable(done)
            job_id = find_late(viewer, plan.run_id, wait, job_ids)
            if job_id is None:
                raise unanswered(done, folder)
        if job_id is None:
            if job_ids:
                viewer.slurm.run(scancel(job_ids))
            folder.remove()
            raise refused(done.stderr)
        job_ids.append(job_id)
        with suppress(OSError):  # a full disk: the job's comment names the run, so it is found all the same
            write_json(folder.submission, _submission(plans, request, job_ids))


def find_late(viewer: Viewer, run_id: str, wait: Callable[[float], None], known: Sequence[str] = ()) -> str | None:
    """The job of an sbatch whose answer was lost, looked for by its comment; not one of those that are known."""
    until = monotonic() + LATE
    while True:
        job_id = ask_queue(viewer, _PATIENCE).submitted_for(run_id, known)
        if job_id is not None or monotonic() >= until:
            return job_id
        wait(_AGAIN)


def unanswered(done: Completed, folder: RunFolder) -> SlurmUnreachable:
    words = done.stderr.strip().splitlines()[-1][:200] if done.stderr.strip() else "no answer"
    return SlurmUnreachable(
        Text(
            f"sbatch gave no answer ({words}), so it is not known whether Slurm took the job. The run {folder.id} is "
            "kept: it shows its state as soon as Slurm answers. Look there before you submit again.",
            f"sbatch 没有回应（{words}），因此尚不确定 Slurm 是否已接受作业。运行 {folder.id} 已保留，"
            "Slurm 恢复后会显示其状态。重新提交前请先查看。",
        )
    )


def _require_own(root: Path) -> None:
    """In a folder of somebody else's, or that all may write to, another user can put their script in the place of ours
    before the job begins. Raises Internal, OSError."""
    if is_ours_alone(root):
        return
    raise Internal(
        Text(
            f"the folder {root} is not yours alone: its owner is not you, or everybody may write to it, so that "
            "another user could change what your jobs run. Ask your administrator to give it to you (chown), or take "
            "the right away (chmod o-w). Nothing was submitted.",
            f"目录 {root} 不是您独有的：它的所有者不是您，或任何人都可以写入，因此其他用户可能改变您的"
            "作业所运行的内容。请管理员将它交给您（chown），或取消该权限（chmod o-w）。没有提交任何作业。",
        )
    )


def _cannot_write(root: Path, error: OSError) -> Internal:
    words = error.strerror or str(error)
    return Internal(
        Text(
            f"the run's folder cannot be made in {root} ({words}); free some space, or check its permissions. "
            "Nothing was submitted.",
            f"无法在 {root} 中创建运行目录（{words}）；请清理空间或检查权限。没有提交任何作业。",
        )
    )
