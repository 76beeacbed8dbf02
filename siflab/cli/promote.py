"""`siflab promote`."""

import argparse
import os
from typing import Any

from siflab.cli.ending import interrupted
from siflab.cli.following import follow_log, wait_for_end
from siflab.cli.show import describe_end
from siflab.cli.terminal import harmless, in_words, pick, print_json, say, warn
from siflab.cli.typed_parameters import read_parameters, read_sweep
from siflab.errors import FieldError, Invalid
from siflab.notebook import Finding
from siflab.runs import Preview, RunRequest, Viewer, checked_request, preflight, preview, submit
from siflab.runs.views import site_view
from siflab.text import Text

_COUNTS = ("nodes", "gpus", "cpus", "processes", "attempts")


def promote(options: argparse.Namespace) -> int:
    """Ctrl-C says whether something was submitted, which is what a person wants to know then."""
    stage = _Stage()
    try:
        return _promote(options, stage)
    except KeyboardInterrupt:
        return interrupted(stage.if_interrupted)


class _Stage:
    """What an interruption means at this moment."""

    def __init__(self) -> None:
        self.if_interrupted = Text("nothing was submitted", "没有提交任何作业")

    def submitting(self) -> None:
        self.if_interrupted = Text(
            "it was just being submitted: `siflab runs` shows whether Slurm has it",
            "当时正在提交：请用 `siflab runs` 查看 Slurm 是否已收到",
        )

    def submitted(self, run_id: str) -> None:
        self.if_interrupted = Text(f"run {run_id} goes on", f"运行 {run_id} 继续进行")


def _promote(options: argparse.Namespace, stage: _Stage) -> int:
    viewer = Viewer.here()
    request = _request(options, viewer)
    if options.dry_run:
        return _dry_run(preview(viewer, request), options.json)
    for finding in preflight(viewer, request):
        if finding.severity != "error":  # an error is what `submit` says itself
            warn(_finding(finding))
    stage.submitting()
    run = submit(viewer, request)
    stage.submitted(run.id)
    if options.follow or options.wait:
        warn(_submitted(run.id, run.job_id))
        run = follow_log(viewer, run.id) if options.follow else wait_for_end(viewer, run.id)
        warn(describe_end(run))
    if options.json:
        print_json(run.as_dict())
    elif options.script_only:
        say(
            pick(
                f"run {run.id} was written, not submitted: {run.folder}", f"运行 {run.id} 已生成，未提交：{run.folder}"
            )
        )
        say(pick("submit it on a login node with: sbatch job.sh", "在登录节点上提交：sbatch job.sh"))
    elif not (options.follow or options.wait):
        say(_submitted(run.id, run.job_id))
        say(pick(f"follow it with: siflab logs -f {run.id}", f"查看进展：siflab logs -f {run.id}"))
    return int(run.ended and run.state != "completed") if options.follow or options.wait else 0


def _request(options: argparse.Namespace, viewer: Viewer) -> RunRequest:
    """Raises Invalid for what is no number, and for a name that is too long."""
    errors = []
    counts: dict[str, int | None] = {}
    for field in _COUNTS:
        value = getattr(options, field)
        try:
            counts[field] = int(value) if value is not None else None
        except ValueError:
            message = Text(f"{value!r} is not a whole number", f"{value!r} 不是整数")
            errors.append(FieldError(field, "not-a-number", message))
    more: dict[str, Any] = {}
    try:
        more = {"parameters": read_parameters(options.parameter), "sweep": read_sweep(options)}
    except Invalid as invalid:
        errors += invalid.errors
    if options.name is not None and len(options.name) > 80:
        message = Text("a name may have at most 80 characters", "名称最多 80 个字符")
        errors.append(FieldError("name", "string-too-long", message))
    if errors:
        raise Invalid(errors)
    if counts["attempts"] is None:
        del counts["attempts"]
    return checked_request(
        mode=options.mode or ("sweep" if more["sweep"] else "notebook"),
        arguments=tuple(options.arguments),
        script_only=options.script_only,
        **({"signal": options.signal} if options.signal else {}),
        **more,
        path=os.path.abspath(options.notebook),  # noqa: PTH100 (links stay as the person knows them)
        profile=options.profile or site_view(viewer)["default_profile"] or "",
        name=options.name,
        image=options.image,
        kernel=options.kernel,
        memory=options.memory,
        time=options.time,
        **counts,
    )


def _dry_run(seen: Preview, as_json: bool) -> int:
    if as_json:
        print_json({**seen.as_dict(), "findings": [finding.as_dict() for finding in seen.findings]})
        return 0
    say(seen.script.rstrip("\n"))
    for finding in seen.findings:
        warn(_finding(finding))
    if seen.gpu_hours:
        warn(pick(f"GPU-hours at most: {seen.gpu_hours:g}", f"最多 GPU 小时：{seen.gpu_hours:g}"))
    if seen.slurm_says is not None:
        warn(pick(f"Slurm would not take it: {seen.slurm_says.en}", f"Slurm 不会接受：{seen.slurm_says.zh}"))
    elif seen.estimated_start is not None:
        start = f"{seen.estimated_start:%F %T}"
        warn(pick(f"Slurm expects to start it at {start}", f"Slurm 预计开始时间：{start}"))
    warn(pick("nothing was submitted", "没有提交任何作业"))
    return 0


def _submitted(run_id: str, job_id: str | None) -> str:
    return pick(f"run {run_id} was submitted as job {job_id}", f"运行 {run_id} 已提交，作业号 {job_id}")


def _finding(finding: Finding) -> str:
    kind = {"error": ("error", "错误"), "warning": ("warning", "警告"), "info": ("note", "提示")}[finding.severity]
    where = ""
    if finding.cell is not None:
        line = pick(f", line {finding.line}", f"第 {finding.line} 行") if finding.line else ""
        where = pick(f"cell {finding.cell + 1}{line}: ", f"第 {finding.cell + 1} 个单元格{line}：")
    fix = pick(f" [fix: {finding.fix.title.en}]", f"【修改：{finding.fix.title.zh}】") if finding.fix else ""
    return f"{pick(*kind)}: {where}{harmless(in_words(finding.message) + fix)}"
