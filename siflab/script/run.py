"""The batch script of a run: a pure function from a plan to its text.

What a person chose reaches it only as numbers and as names that site.yaml holds; the notebook's path and name are in
request.json, which the runner reads. Everything else goes through `quoted` (words of the shell) or `directive`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import siflab
from siflab.config import Bind, Resources, SingularitySite
from siflab.container.command import exec_argv, use_nv
from siflab.script.directives import directive, options_as_directives, pattern
from siflab.script.quoting import command_line, quoted
from siflab.script.template import filled

COMMENT = "siflab-run:"
"""What the comment of a run's job begins with; the run's id follows."""
LOG = "job.log"
"""In the run folder: what Slurm itself says, and the script until the attempt has its own log."""
PROBLEMS = {"no-attempt": 71, "no-singularity": 72, "no-image": 73, "no-bind": 74, "no-container": 75, "signal": 76}
"""Exit codes of the script besides the runner's (`siflab.inside.EXIT_CODES`), by the `problem` that end.json names. All
are under 128, since Slurm shows a higher one as a signal."""


@dataclass(frozen=True)
class RunPlan:
    """What the script of one run is made of. Paths are the host's but for those called inside; `home` is (host,
    inside); `warning` is the time in seconds before the limit at which the run is told to save."""

    run_id: str
    job_name: str
    title: str
    source: str
    folder: str
    folder_inside: str
    resources: Resources
    singularity: SingularitySite
    home: tuple[str, str]
    warning: int = 60
    environment: Mapping[str, str] = field(default_factory=dict)
    binds: tuple[Bind, ...] = ()


def render_run(plan: RunPlan) -> str:
    """The text of job.sh: complete, so that ``sbatch job.sh`` does by hand what Siflab does."""
    resources = plan.resources
    binds = (*plan.singularity.binds, *plan.binds)
    container = exec_argv(
        plan.singularity,
        resources.image.path,
        [resources.image.python],
        binds=plan.binds,
        nv=use_nv(plan.singularity, resources.gpus),
        pwd=plan.folder_inside,
        home=plan.home,
    )
    return filled(
        "run.sh",
        id=plan.run_id,
        title=_for_comment(plan.title),
        source=_for_comment(plan.source),
        version=siflab.__version__,
        directives="\n".join(directives(plan)),
        run=quoted(plan.folder),
        run_inside=quoted(plan.folder_inside),
        singularity=quoted(plan.singularity.command),
        image=quoted(resources.image.path),
        sources=command_line(bind.source for bind in binds),
        cpus=str(resources.cpus),
        environment="".join(f"  export {name}={quoted(value)}\n" for name, value in sorted(plan.environment.items())),
        container=_lines(container, {plan.singularity.command: '"$singularity"', resources.image.path: '"$image"'}),
    )


def directives(plan: RunPlan) -> list[str]:
    """The #SBATCH lines: what is asked for, then how the job is to behave."""
    warning = max(1, min(plan.warning, plan.resources.time_seconds // 4))
    return [
        directive("job-name", plan.job_name),
        *options_as_directives(plan.resources.sbatch_options()),
        directive("comment", COMMENT + plan.run_id),
        directive("chdir", plan.folder),
        directive("output", pattern(f"{plan.folder}/{LOG}")),
        directive("open-mode", "append"),
        directive("export", "ALL"),
        directive("requeue"),
        directive("signal", f"B:USR2@{warning}"),
    ]


def _lines(argv: list[str], variables: Mapping[str, str]) -> str:
    """An argument list over several lines, an option and its value on each; a word that the script has as a variable is
    written so, to be changed in one place."""
    lines = [argv[:2]]
    for word in argv[2:]:
        if word.startswith("--") or not lines[-1][-1].startswith("--"):
            lines.append([word])
        else:
            lines[-1].append(word)
    return "\n".join("    " + " ".join(variables.get(word) or quoted(word) for word in line) for line in lines)


def _for_comment(text: str) -> str:
    """One line of a comment, whatever is in a name."""
    return "".join(character if character.isprintable() else " " for character in text)
