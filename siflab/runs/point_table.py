"""The table of a sweep: its points, sorted, as CSV, and the failed ones run again."""

import csv
import io
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from siflab.errors import Conflict, NotFound, SlurmRefused
from siflab.runs.evidence import ask_queue
from siflab.runs.folder import RunFolder, read_json, write_json
from siflab.runs.listing import folder_of, get_run
from siflab.runs.points import Point, SweepReading
from siflab.runs.run import Run
from siflab.runs.viewer import Viewer
from siflab.slurm.answers import parse_job_id, sbatch_error
from siflab.slurm.execute import require_reachable
from siflab.text import Text

_FAILED = ("failed", "timeout", "out_of_memory", "node_fail", "cancelled")
_FACTS = ("number", "state", "seconds", "attempts", "exit_code")


@dataclass(frozen=True)
class PointTable:
    """`parameters` and `values` are the names that any point has, in the order in which they come."""

    run_id: str
    points: list[Point]

    @property
    def parameters(self) -> list[str]:
        return list(dict.fromkeys(name for point in self.points for name in point.parameters))

    @property
    def values(self) -> list[str]:
        return list(dict.fromkeys(name for point in self.points for name in point.values))

    def sorted_by(self, column: str, descending: bool = False) -> "PointTable":
        """By a fact (number, state, seconds, attempts, exit_code), a parameter or a value; points without it come last.
        Raises NotFound."""
        if column not in (*_FACTS, *self.parameters, *self.values):
            listed = ", ".join((*_FACTS, *self.parameters, *self.values))
            raise NotFound(
                Text(f"there is no column {column}; there are: {listed}", f"没有列 {column}；可用：{listed}")
            )
        have = [point for point in self.points if _cell(point, column) is not None]
        rest = [point for point in self.points if _cell(point, column) is None]
        have.sort(key=lambda point: _order(_cell(point, column)), reverse=descending)
        return PointTable(self.run_id, [*have, *rest])

    def as_dict(self) -> dict[str, Any]:
        """The `PointTable` of openapi.yaml."""
        return {
            "run": self.run_id,
            "parameters": self.parameters,
            "values": self.values,
            "points": [point.as_dict() for point in self.points],
        }

    def as_csv(self) -> str:
        """A line of names, then one a point; lists and mappings are JSON. A text that a spreadsheet would take for a
        formula gets an apostrophe before it."""
        names = [*(f"parameter.{name}" for name in self.parameters), *(f"value.{name}" for name in self.values)]
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*_FACTS, *names])
        for point in self.points:
            rows = [
                *(point.parameters.get(name) for name in self.parameters),
                *(point.values.get(n) for n in self.values),
            ]
            writer.writerow([*(_cell(point, name) for name in _FACTS), *map(_csv_cell, rows)])
        return text.getvalue()


def list_points(viewer: Viewer, run_id: str) -> PointTable:
    """Raises NotFound, also for a run that is no sweep."""
    return PointTable(run_id, _points(viewer, _sweep(viewer, run_id)))


def rerun_failed(viewer: Viewer, run_id: str) -> Run:
    """The points that failed, timed out or were cancelled run again, in the same folder: their attempts count on.
    Raises NotFound, Conflict when there are none or the sweep still runs, SlurmRefused, SlurmUnreachable."""
    folder = _sweep(viewer, run_id)
    if not get_run(viewer, run_id).ended:
        raise Conflict(Text("the sweep has not ended yet; wait for it, or cancel it", "参数扫描尚未结束；请等待或取消"))
    failed = [point.number for point in _points(viewer, folder) if point.state in _FAILED]
    if not failed:
        raise Conflict(Text("no point has failed", "没有失败的点"))
    submission = read_json(folder.submission) or {}
    arrays = list(submission.get("arrays") or [])
    limit = ((read_json(folder.request) or {}).get("at_once")) or None
    submitted: list[str] = []
    for index, array in enumerate(list(arrays)):
        offset, count = int(array["offset"]), int(array["points"])
        tasks = [number - offset for number in failed if offset <= number < offset + count]
        if not tasks or array.get("again"):
            continue
        script = folder.path / ("job.sh" if index == 0 else f"job-{index + 1}.sh")
        wanted = ",".join(map(str, tasks)) + (f"%{limit}" if limit else "")
        after = [f"--dependency=afterany:{submitted[-1]}"] if submitted else []
        argv = ["sbatch", "--parsable", f"--array={wanted}", *after]
        done = require_reachable(viewer.slurm.run(argv, stdin=script.read_text("utf-8"), cwd=str(folder.path)))
        job_id = parse_job_id(done.stdout) if done.ok else None
        if job_id is None:
            said = sbatch_error(done.stderr)[1]
            raise SlurmRefused(Text(f"Slurm did not take the points: {said.en}.", f"Slurm 未接受这些点：{said.zh}。"))
        submitted.append(job_id)
        arrays.append({"job_id": job_id, "offset": offset, "points": count, "again": True})
        now = datetime.now().astimezone().isoformat(timespec="milliseconds")
        write_json(folder.submission, {**submission, "arrays": arrays, "requested_at": now})
    return get_run(viewer, run_id)


def _sweep(viewer: Viewer, run_id: str) -> RunFolder:
    folder = folder_of(viewer, run_id)
    if (read_json(folder.request) or {}).get("mode") != "sweep":
        raise NotFound(Text(f"the run {run_id} is no sweep: it has no points", f"运行 {run_id} 不是参数扫描，没有点"))
    return folder


def _points(viewer: Viewer, folder: RunFolder) -> list[Point]:
    return SweepReading(viewer, folder).points(ask_queue(viewer), datetime.now().astimezone())


def _cell(point: Point, column: str) -> Any:
    if column in _FACTS:
        return getattr(point, column)
    return point.values.get(column, point.parameters.get(column))


def _order(value: Any) -> tuple[int, Any]:
    """Numbers before texts, texts before all else."""
    if isinstance(value, bool | int | float):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, json.dumps(value, sort_keys=True))


def _csv_cell(value: Any) -> Any:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
