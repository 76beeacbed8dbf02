"""A run once more, from its own snapshot: the same notebook, the same request, and what is not the same any more."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from siflab.errors import Conflict, FieldError, Invalid
from siflab.model_errors import invalid
from siflab.runs.diagnosing.words import duration
from siflab.runs.folder import RunFolder, read_json
from siflab.runs.place import id_of, place_of
from siflab.runs.preparation import prepare
from siflab.runs.request import RunRequest
from siflab.runs.run import Run
from siflab.runs.source import source_changed
from siflab.runs.submission import submit
from siflab.runs.viewer import Viewer
from siflab.slurm.memory import format_memory
from siflab.text import Text

_FIXED = ("path", "rerun_of", "sweep")
"""Of a request: what makes it this run."""
_ID = re.compile(r"[a-z][a-z0-9]{7}")


@dataclass(frozen=True)
class Difference:
    """`what` is for programs: image, profile, siflab, source, folder, site, environment."""

    what: str
    text: Text

    def as_dict(self) -> dict[str, Any]:
        return {"what": self.what, "text": self.text.as_dict()}


@dataclass(frozen=True)
class Rerun:
    """`run` is None where nothing was submitted. `differences` are those that nobody asked for."""

    run: Run | None
    differences: tuple[Difference, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "run": self.run.as_dict() if self.run is not None else None,
            "differences": [difference.as_dict() for difference in self.differences],
        }


def rerun(viewer: Viewer, run: str | Path, changes: dict[str, Any] | None = None, dry_run: bool = False) -> Rerun:
    """`run` is an id or a run folder; `changes` are fields of a `RunRequest`, of `parameters` those that change. Raises
    NotFound, Conflict when the snapshot is gone, and what `submit` raises."""
    folder = place_of(viewer, run)
    before = read_json(folder.request) or {}
    is_script = before.get("kind") == "script"
    snapshot = folder.input_script if is_script else folder.input
    if not snapshot.is_file():
        raise Conflict(
            Text(
                f"the snapshot of the run, {snapshot.name}, is not in {folder.path}: it cannot be repeated",
                f"{folder.path} 中没有运行的快照 {snapshot.name}：无法重新运行",
            )
        )
    path, moved = _path(viewer, before, snapshot)
    request = _request(folder, before, path, changes or {})
    prepared = prepare(viewer, request, findings_block=False, snapshot=str(snapshot))
    now = datetime.now().astimezone()
    planned = prepared.request_json(viewer, prepared.plan(viewer, "preview0", now), now)
    found = (*moved, *differences(before, planned, set(changes or {})), *_source(viewer, before))
    again = None if dry_run else submit(viewer, request, snapshot=str(snapshot))
    return Rerun(again, found)


def _path(viewer: Viewer, before: dict[str, Any], snapshot: Path) -> tuple[str, list[Difference]]:
    """Where the notebook lay, so that it runs there again; where that folder is gone, the run's own."""
    source = str(before.get("source") or "")
    seen = viewer.seen(source) if source.startswith("/") else None
    if seen is not None and Path(seen).parent.is_dir():
        return seen, []
    text = Text(
        f"the notebook's folder, {Path(source).parent}, is not here any more: it runs in the run's own folder",
        f"notebook 所在的目录 {Path(source).parent} 已不存在：将在运行目录中运行",
    )
    return str(snapshot.absolute()), [Difference("folder", text)]


def _request(folder: RunFolder, before: dict[str, Any], path: str, changes: dict[str, Any]) -> RunRequest:
    wrong = [name for name in changes if name in _FIXED or name not in RunRequest.model_fields]
    if wrong:
        known = ", ".join(name for name in RunRequest.model_fields if name not in (*_FIXED, "submit_key"))
        raise Invalid(
            [
                FieldError(name, "cannot-change", Text(f"can be changed are: {known}", f"可以更改的有：{known}"))
                for name in wrong
            ]
        )
    asked = dict(before.get("request") or {})
    parameters = {**(asked.get("parameters") or {}), **(changes.get("parameters") or {})}
    run_id = id_of(folder)
    told: dict[str, Any] = {
        **asked,
        "submit_key": None,
        "script_only": False,
        **changes,
        "parameters": parameters,
        "path": path,
        "name": changes.get("name") or before.get("name"),
        "rerun_of": run_id if _ID.fullmatch(run_id) else None,
    }
    if before.get("mode") == "sweep":
        points = [point["parameters"] for point in (read_json(folder.points) or {}).get("points") or []]
        told["sweep"] = {"points": points, "at_once": before.get("at_once")}
    try:
        return RunRequest.model_validate(told)
    except ValidationError as error:
        raise invalid(error) from error


def differences(before: dict[str, Any], now: dict[str, Any], wanted: set[str]) -> list[Difference]:
    """Between two request.json; not in what was asked to be changed."""
    found = [*(_image(before, now) if "image" not in wanted else []), *_resources(before, now, wanted)]
    for what, name, label in (
        ("siflab", "siflab_version", Text("Siflab's version", "Siflab 的版本")),
        ("site", "site", Text("the site", "站点")),
    ):
        if before.get(name) != now.get(name):
            found.append(_differs(what, label, before.get(name), now.get(name)))
    old, new = (_mapping(one.get("environment")) for one in (before, now))
    if old.get("id") != new.get("id") and "kernel" not in wanted:
        found.append(
            _differs("environment", Text("your own environment", "您自己的环境"), old.get("name"), new.get("name"))
        )
    if "profile" not in wanted:
        variables = [_mapping(one.get("environment_variables")) for one in (before, now)]
        for name in sorted(variables[0].keys() | variables[1].keys()):
            if variables[0].get(name) != variables[1].get(name):
                label = Text.plain(name)
                found.append(_differs("profile", label, variables[0].get(name), variables[1].get(name)))
    return found


def _image(before: dict[str, Any], now: dict[str, Any]) -> list[Difference]:
    old, new = (_mapping(one.get("image")) for one in (before, now))
    if old.get("path") != new.get("path"):
        return [_differs("image", Text("the image", "镜像"), old.get("path"), new.get("path"))]
    if old.get("digest") and new.get("digest"):
        if old["digest"] == new["digest"]:
            return []
        return [_differs("image", Text("the image's digest", "镜像摘要"), old["digest"], new["digest"])]
    file = ("size", "modified_ns")
    if [old.get(name) for name in file] == [new.get(name) for name in file]:
        return []
    text = Text(
        "the image's file has changed since, so it may be another image",
        "镜像文件此后已改变，可能已是另一个镜像",
    )
    return [Difference("image", text)]


def _resources(before: dict[str, Any], now: dict[str, Any], wanted: set[str]) -> list[Difference]:
    old, new = (_mapping(one.get("resources")) for one in (before, now))
    fields = {"memory_mib": "memory", "time_seconds": "time", "image": "image"}
    found = []
    for name in new:
        field = fields.get(name, name)
        if old.get(name) != new.get(name) and name != "image" and field not in wanted and "profile" not in wanted:
            label = Text(f"{field} of the profile", f"资源配置的 {field}")
            found.append(_differs("profile", label, _shown(name, old.get(name)), _shown(name, new.get(name))))
    return found


def _shown(name: str, value: Any) -> Any:
    if isinstance(value, int) and name == "memory_mib":
        return format_memory(value)
    return duration(value).en if isinstance(value, int) and name == "time_seconds" else value


def _source(viewer: Viewer, before: dict[str, Any]) -> list[Difference]:
    if not source_changed(viewer, before):
        return []
    text = Text("the notebook has changed since; what runs is the snapshot", "notebook 此后已修改；运行的是当时的快照")
    return [Difference("source", text)]


def _differs(what: str, label: Text, old: Any, new: Any) -> Difference:
    was, now = ("-" if value in (None, "") else str(value)[:200] for value in (old, new))
    return Difference(what, Text(f"{label.en}: was {was}, now {now}", f"{label.zh}：原为 {was}，现为 {now}"))


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
