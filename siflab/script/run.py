"""The batch script of a run: a pure function from a plan to its text.

What a person chose reaches it only as numbers and as names that site.yaml holds; the notebook's path and name are in
request.json, which the runner reads. Everything else goes through `quoted` (words of the shell) or `directive`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import siflab
from siflab.config import Bind, Resources, SingularitySite
from siflab.container.command import exec_argv, use_nv
from siflab.script.directives import directive, options_as_directives, pattern
from siflab.script.quoting import command_line, quoted
from siflab.script.template import filled

COMMENT = "siflab-run:"
"""What the comment of a run's job begins with; the run's id follows."""
LOG, ARRAY_LOG = "%x-%j.out", "%x-%A_%a.out"
"""In the run folder: what Slurm itself says, and the script until the attempt has its own log (name and id of the
job)."""
PROBLEMS = {
    "no-attempt": 71, "no-singularity": 72, "no-image": 73, "no-bind": 74, "no-container": 75, "signal": 76,
    "no-requeue": 77, "no-rendezvous": 78, "not-yours": 79,
}  # fmt: skip
"""Exit codes of the script besides the runner's (`siflab.inside.EXIT_CODES`), by the `problem` that end.json names. All
are under 128, since Slurm shows a higher one as a signal."""
GOES_ON = "goes-on"
"""The `problem` of an attempt after which the job is queued again, with exit code 5."""


@dataclass(frozen=True)
class RunPlan:
    """What the script of one run is made of. Paths are the host's but for those called inside; `home` is (host,
    inside), so is `scratch`, the run's own folder on the site's scratch file system. `warning` is the time in seconds
    before the limit at which the run is told to save, by `signal`. `processes` a node, for ``distributed``; `points`
    how many a sweep has in this array, from the point `offset` on, `at_once` of them at the same time; `script` is its
    file in the run folder."""

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
    mode: Literal["notebook", "distributed", "sweep"] = "notebook"
    processes: int = 1
    attempts: int = 1
    signal: str = "USR2"
    requeue: Literal["requeue", "follow-up"] = "requeue"
    scratch: tuple[str, str] | None = None
    points: int = 0
    at_once: int | None = None
    offset: int = 0
    script: str = "job.sh"


def render_run(plan: RunPlan) -> str:
    """The text of job.sh: complete, so that ``sbatch job.sh`` does by hand what Siflab does."""
    resources, distributed, sweep = plan.resources, plan.mode == "distributed", plan.mode == "sweep"
    container = exec_argv(
        plan.singularity,
        resources.image.path,
        [resources.image.python],
        binds=plan.binds,
        nv=use_nv(plan.singularity, resources.gpus),
        pwd=plan.folder_inside,
        home=plan.home,
    )
    step = "run/step_nodes.sh" if distributed else "run/step_point.sh" if sweep else "run/step_one.sh"
    more_codes = ", 77 it could not be queued again" if plan.attempts > 1 else ""
    return filled(
        "run.sh",
        id=plan.run_id,
        title=_for_comment(plan.title),
        source=_for_comment(plan.source),
        version=siflab.__version__,
        script=plan.script,
        more_codes=more_codes + (", 78 the nodes cannot meet" if distributed else ""),
        directives="\n".join(directives(plan)),
        run=quoted(plan.folder),
        run_inside=quoted(plan.folder_inside),
        singularity=quoted(plan.singularity.command),
        image=quoted(resources.image.path),
        attempts=str(plan.attempts),
        settings="".join(f"{name}={value}\n" for name, value in _settings(plan).items()),
        sources=command_line(bind.source for bind in (*plan.singularity.binds, *plan.binds)),
        cpus=str(resources.cpus),
        threads=_threads(plan),
        environment="".join(f"  export {name}={quoted(value)}\n" for name, value in sorted(plan.environment.items())),
        container=_lines(container, {plan.singularity.command: '"$singularity"', resources.image.path: '"$image"'}),
        place=_part("run/place_point.sh", offset=str(plan.offset)) if sweep else _part("run/place_run.sh"),
        make_data=_part("run/data_scratch.sh" if plan.scratch else "run/data.sh") + "\n",
        requeue=_requeue(plan),
        rendezvous=_part("run/rendezvous.sh") if distributed else "",
        step=_part(step),
        step_code=filled("run/step_code_nodes.sh") if distributed else "",
        signal=plan.signal,
    )


def directives(plan: RunPlan) -> list[str]:
    """The #SBATCH lines: what is asked for, then how the job is to behave."""
    warning = max(1, min(plan.warning, plan.resources.time_seconds // 4))
    log = LOG
    array = []
    if plan.mode == "sweep":
        log = ARRAY_LOG
        array = [directive("array", array_range(plan.points, plan.at_once))]
    return [
        directive("job-name", plan.job_name),
        *array,
        *options_as_directives(plan.resources.sbatch_options()),
        directive("comment", COMMENT + plan.run_id),
        directive("chdir", plan.folder),
        directive("output", f"{pattern(plan.folder)}/{log}"),
        directive("open-mode", "append"),
        directive("export", "ALL"),
        directive("requeue"),
        directive("signal", f"B:{plan.signal}@{warning}"),
    ]


def array_range(points: int, at_once: int | None) -> str:
    """For sbatch's --array: ``0-99%8``."""
    return f"0-{points - 1}" + (f"%{at_once}" if at_once else "")


def _settings(plan: RunPlan) -> dict[str, str]:
    settings = {}
    if plan.mode == "distributed":
        settings["processes"] = f"{plan.processes} # a node"
    if plan.scratch is not None:
        settings["scratch"] = quoted(plan.scratch[0])
        settings["scratch_inside"] = quoted(plan.scratch[1])
    return settings


def _threads(plan: RunPlan) -> str:
    cpus = f"${{SLURM_CPUS_PER_TASK:-{plan.resources.cpus}}}"
    if plan.mode != "distributed" or plan.processes == 1:
        return f'"{cpus}"'
    return f"$(({cpus} > processes ? {cpus} / processes : 1))"


def _requeue(plan: RunPlan) -> str:
    sweep = plan.mode == "sweep"
    follow_up = filled(
        "run/follow_up.sh",
        array='--array="$SLURM_ARRAY_TASK_ID" ' if sweep else "",
        offset=f"{plan.offset} " if sweep else "",
        script=plan.script,
    )
    if plan.requeue == "follow-up":
        return f"  local said code\n{follow_up}"
    return filled("run/requeue.sh", follow_up=follow_up.rstrip("\n"))


def _part(name: str, **values: str) -> str:
    return filled(name, **values).rstrip("\n")


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
