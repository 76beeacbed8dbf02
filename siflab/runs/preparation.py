"""From a request to all that a run is made of, with every error at once and nothing written yet."""

import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import siflab
from siflab.config import Choice, Resources, Site, resolve
from siflab.container.checks import bind_problem, check_binds
from siflab.container.image import check_image
from siflab.errors import FieldError, Invalid
from siflab.notebook import (
    Finding,
    Notebook,
    NotebookError,
    preflight,
    read_notebook,
    read_script,
)
from siflab.notebook.parameters import check_parameters
from siflab.runs.environments import KernelChoice, choose
from siflab.runs.job_view import JobView
from siflab.runs.modes import check_mode
from siflab.runs.naming import folder_name, slug, title_of
from siflab.runs.request import RunRequest
from siflab.runs.surroundings import surroundings
from siflab.runs.sweep import points_of
from siflab.runs.viewer import Viewer
from siflab.script.run import RunPlan
from siflab.text import Text


@dataclass(frozen=True)
class Prepared:
    """A request that can be carried out. `source` is the notebook's path on the host."""

    request: RunRequest
    resources: Resources
    notebook: Notebook
    source: str
    workdir_inside: str
    notebook_inside: str
    title: str
    job_view: JobView
    findings: list[Finding]
    kernel_choice: KernelChoice
    parameters: dict[str, Any]
    points: list[dict[str, Any]]

    @property
    def processes(self) -> int:
        """On each node, in mode distributed."""
        return self.request.processes or max(1, self.resources.gpus)

    def plan(self, viewer: Viewer, run_id: str, created: datetime) -> RunPlan:
        folder = f"{viewer.runs_root_host()}/{folder_name(run_id, self.title, created)}"
        site = viewer.site
        partition = site.slurm.partitions.get(self.resources.partition)
        return RunPlan(
            run_id=run_id,
            job_name=slug(self.title),
            title=self.title,
            source=self.source,
            folder=folder,
            folder_inside=self.job_view.inside(folder) or folder,
            resources=self.resources,
            singularity=site.singularity,
            home=self.job_view.home,
            warning=site.runs.warning,
            environment={
                **self._defaults(site),
                **(partition.environment if partition else {}),
                **self.kernel_choice.jupyter_path(self.job_view),
            },
            binds=self.job_view.extra_binds(folder),
            mode=self.request.mode,
            processes=self.processes,
            attempts=self.request.attempts,
            signal=self.request.signal,
            requeue=site.runs.requeue,
            scratch=self._scratch(viewer, Path(folder).name),
            points=len(self.points),
            at_once=self.request.sweep.at_once if self.request.sweep else None,
        )

    def _defaults(self, site: Site) -> dict[str, str]:
        found = {}
        if self.resources.gpus:
            found["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"
        if site.runs.hf_home is not None:
            found["HF_HOME"] = self.job_view.inside(site.runs.hf_home) or site.runs.hf_home
        return found

    def _scratch(self, viewer: Viewer, name: str) -> tuple[str, str] | None:
        """(host, inside) of the run's own folder on the site's scratch; None where there is none that the job sees."""
        root = viewer.site.runs.scratch
        if root is None:
            return None
        host = f"{root}/{viewer.user}/{name}"
        inside = self.job_view.inside(f"{root}/{viewer.user}")
        return (host, f"{inside}/{name}") if inside is not None else None

    def request_json(self, viewer: Viewer, plan: RunPlan, created: datetime) -> dict[str, Any]:
        """request.json: what the runner reads (see `siflab.inside`), what was asked for, and where it comes from."""
        image = self.resources.image
        return {
            "version": 1,
            "id": plan.run_id,
            "name": self.title,
            "mode": self.request.mode,
            "kind": "script" if self.notebook.is_script else "notebook",
            "parameters": self.parameters,
            "arguments": list(self.request.arguments),
            "points": len(self.points),
            "at_once": plan.at_once,
            "nodes": self.resources.nodes,
            "processes": self.processes if self.request.mode == "distributed" else 1,
            "attempts": self.request.attempts,
            "signal": self.request.signal,
            "warning_seconds": plan.warning,
            "environment_variables": dict(sorted(plan.environment.items())),
            "notebook": self.notebook_inside,
            "workdir": self.workdir_inside,
            "kernel": self._kernel(),
            "environment": self._environment(),
            "image": {"id": self.resources.image_id, "path": image.path, **self._image_facts(viewer)},
            "source": self.source,
            "source_sha256": self.notebook.sha256,
            "source_size": len(self.notebook.content),
            "source_modified_ns": self.notebook.modified_ns,
            "created_at": created.isoformat(timespec="milliseconds"),
            "user": viewer.user,
            "site": viewer.site.name,
            "siflab_version": siflab.__version__,
            "submitted_from": {
                "host": os.uname().nodename,
                "session_job": viewer.in_session.job_id if viewer.in_session else None,
            },
            "binds": [str(bind) for bind in (*viewer.site.singularity.binds, *plan.binds)],
            "home": list(plan.home),
            "profile": self.resources.profile,
            "resources": self.resources.as_dict(),
            "slurm": self.resources.sbatch_options(),
            "request": self.request.model_dump(mode="json", exclude_none=True, exclude={"sweep"}),
        }

    def _kernel(self) -> str | None:
        """None: as the notebook says, or another one of its language. An environment is not replaced by another."""
        own = self.kernel_choice.environment
        return own.kernel if own is not None else self.request.kernel or None

    def _environment(self) -> dict[str, str] | None:
        """Which of the person's environments; environment.json beside has all of it."""
        found = self.kernel_choice.environment
        return {"name": found.name, "id": found.id, "kernel": found.kernel} if found is not None else None

    def _image_facts(self, viewer: Viewer) -> dict[str, Any]:
        """Its digest where site.yaml or the session knows it (hashing gigabytes would hold up the submission), and what
        tells one version of the file from another."""
        image, session = self.resources.image, viewer.in_session
        digest = image.digest
        if digest is None and session is not None and session.image_id == self.resources.image_id:
            digest = session.image_digest
        try:
            facts = Path(viewer.seen(image.path) or image.path).stat()
        except OSError:
            return {"digest": digest}
        return {"digest": digest, "size": facts.st_size, "modified_ns": facts.st_mtime_ns, "inode": facts.st_ino}


def prepare(
    viewer: Viewer, request: RunRequest, *, findings_block: bool = True, snapshot: str | None = None
) -> Prepared:
    """Everything is checked before anything is made. Raises Invalid with all that is wrong; with `findings_block`
    preflight's errors are among it. With a `snapshot` that file is what runs, as if it lay at the request's path."""
    path = os.path.abspath(request.path)  # noqa: PTH100 (links stay as the person knows them)
    errors: list[FieldError] = []
    resources = notebook = None
    try:
        resources = _resources(viewer, request)
    except Invalid as invalid:
        errors += invalid.errors
    try:
        notebook = read_script(snapshot or path) if request.is_script else read_notebook(snapshot or path)
    except NotebookError as error:
        errors.append(error.error)
    errors += check_mode(request)
    job_view = JobView(viewer.site, viewer.home, follow_links=viewer.in_session is None)
    if resources is not None:
        errors += _check_container(viewer, resources)
    source, workdir = None, None
    if notebook is not None:
        source, workdir = _places(viewer, path, job_view)
        if source is None or workdir is None:
            errors.append(_not_in_job(path, viewer))
    if resources is None or notebook is None or source is None or workdir is None or errors:
        raise Invalid(errors)
    parameters = check_parameters(notebook, request.parameters)
    points = points_of(request, notebook) if request.sweep is not None else []
    own = choose(viewer, request.kernel or notebook.kernel, resources)
    around = surroundings(viewer, job_view, request, resources, own, ask_slurm=not findings_block)
    findings = preflight(notebook, around)
    blocking = [finding for finding in findings if finding.severity == "error"]
    if blocking and findings_block:
        raise Invalid([FieldError(_field(finding), finding.code, finding.message) for finding in blocking])
    return Prepared(
        request=request,
        resources=resources,
        notebook=notebook,
        source=source,
        workdir_inside=workdir,
        notebook_inside=f"{workdir}/{Path(source).name}",
        title=title_of(request.name, path),
        job_view=job_view,
        findings=findings,
        kernel_choice=own,
        parameters=parameters,
        points=points,
    )


def _field(finding: Finding) -> str:
    return "kernel" if finding.code in ("no-such-kernel", "environment-not-usable") else "path"


def _resources(viewer: Viewer, request: RunRequest) -> Resources:
    choice = Choice(
        profile=request.profile,
        image=request.image,
        nodes=request.nodes,
        gpus=request.gpus,
        cpus=request.cpus,
        memory=request.memory,
        time=request.time,
    )
    return resolve(viewer.site, choice, "run")


def _check_container(viewer: Viewer, resources: Resources) -> list[FieldError]:
    """What can be seen from here; on the node job.sh looks again. Inside a session only bound folders can be seen."""
    errors = []
    if viewer.in_session is None:
        errors += check_binds(viewer.site.singularity.binds)
    else:
        for bind in viewer.site.singularity.binds:
            seen = viewer.seen(bind.source)
            if seen is not None and not Path(seen).exists():
                errors.append(bind_problem(bind))
    path = viewer.seen(resources.image.path)
    problem = check_image(path) if path is not None else None
    if problem is not None:
        errors.append(FieldError("image", "image-unusable", problem))
    return errors


def _places(viewer: Viewer, path: str, job_view: JobView) -> tuple[str | None, str | None]:
    """(path of the notebook on the host, its folder inside the job's container)."""
    source = viewer.host(path)
    if source is None:
        return None, None
    return source, job_view.inside(str(Path(source).parent))


def _not_in_job(path: str, viewer: Viewer) -> FieldError:
    folders = ", ".join(viewer.shown(bind.source) for bind in viewer.site.singularity.binds) or viewer.shown(
        viewer.home
    )
    folder = str(Path(path).parent)
    return FieldError(
        "path",
        "not-in-job",
        Text(
            f"the job cannot see the folder {folder}; move the notebook to one of: {folders}",
            f"作业看不到目录 {folder}；请把 notebook 移到以下目录之一：{folders}",
        ),
    )
