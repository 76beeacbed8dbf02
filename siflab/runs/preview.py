"""What a request would submit, and what Slurm says to it, without submitting anything."""

import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from siflab.config import Resources
from siflab.errors import Invalid, SlurmUnreachable
from siflab.notebook import Finding, NotebookError, read_notebook
from siflab.notebook.parameters import find_parameters
from siflab.runs.naming import new_id
from siflab.runs.preparation import prepare
from siflab.runs.request import RunRequest
from siflab.runs.submission import sbatch_argv
from siflab.runs.viewer import Viewer
from siflab.script.run import render_run
from siflab.slurm.answers import parse_estimate, sbatch_error
from siflab.slurm.execute import require_reachable
from siflab.text import Text


@dataclass(frozen=True)
class Preview:
    """`slurm_says`: why Slurm would not take it, or that it could not be asked; None when it would."""

    script: str
    argv: list[str]
    resources: Resources
    findings: list[Finding]
    estimated_start: datetime | None = None
    slurm_says: Text | None = None

    @property
    def gpu_hours(self) -> float:
        return self.resources.gpu_hours()

    def as_dict(self) -> dict[str, Any]:
        return {
            "script": self.script,
            "argv": self.argv,
            "gpu_hours": self.gpu_hours,
            "estimated_start": self.estimated_start.isoformat() if self.estimated_start else None,
            "slurm_says": self.slurm_says.as_dict() if self.slurm_says else None,
            "resources": self.resources.as_dict(),
        }


def preflight(viewer: Viewer, request: RunRequest) -> list[Finding]:
    """What would go wrong in the notebook. Raises Invalid when it, or the request, cannot be read at all."""
    return prepare(viewer, request, findings_block=False).findings


def preview(viewer: Viewer, request: RunRequest) -> Preview:
    """The script that `submit` would hand over, but for the id in it. Raises Invalid as `submit` does, but not for what
    preflight finds."""
    prepared = prepare(viewer, request, findings_block=False)
    plan = prepared.plan(viewer, new_id(request.submit_key, viewer.user), datetime.now().astimezone())
    script = render_run(plan)
    estimated_start, slurm_says = _ask(viewer, script)
    argv = [*sbatch_argv(), f"{plan.folder}/job.sh"]
    return Preview(script, argv, prepared.resources, prepared.findings, estimated_start, slurm_says)


def _ask(viewer: Viewer, script: str) -> tuple[datetime | None, Text | None]:
    """``sbatch --test-only``: a reading, no promise. The run's folder is not there yet, so its home stands for it."""
    argv = [*sbatch_argv(test_only=True), f"--chdir={viewer.home}", "--output=/dev/null"]
    try:
        done = require_reachable(viewer.slurm.run(argv, stdin=script, cwd=os.sep))
    except SlurmUnreachable as error:
        return None, error.message
    if not done.ok:
        return None, sbatch_error(done.stderr)[1]
    estimate = parse_estimate(done.stderr)
    return (estimate.start if estimate else None), None


def parameters_view(viewer: Viewer, path: str) -> dict[str, Any]:
    """The parameters of a notebook, in the order of their cell; none of a script. `path` is as the viewer sees it.
    Raises Invalid."""
    try:
        found = [] if path.endswith(".py") else find_parameters(read_notebook(path))
    except NotebookError as error:
        raise Invalid([error.error]) from error
    return {"parameters": [parameter.as_dict() for parameter in found]}
