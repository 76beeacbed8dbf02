"""Attempts that were killed: their journals replayed into their output notebooks, and what that brought."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from siflab.errors import Conflict
from siflab.inside import AttemptFolder, attempt_numbers, point_numbers, read_result, recover
from siflab.runs.evidence import ask_queue
from siflab.runs.folder import RunFolder
from siflab.runs.listing import look
from siflab.runs.place import id_of, place_of
from siflab.runs.viewer import Viewer
from siflab.text import Text


@dataclass(frozen=True)
class Repaired:
    """Of one attempt. `state`: `whole` (it ended by itself, nothing was done), `replayed`, `empty` (it left no
    journal), or `failed`, with `why`. `point` is of a sweep."""

    attempt: int
    state: str
    point: int | None = None
    cells_done: int | None = None
    cells_total: int | None = None
    cell_number: int | None = None
    records: int = 0
    torn: int = 0
    output: str | None = None
    why: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "text": self.text.as_dict()}

    @property
    def text(self) -> Text:
        where = Text(f"attempt {self.attempt}", f"第 {self.attempt} 次尝试")
        if self.point is not None:
            where = Text(f"point {self.point}, {where.en}", f"点 {self.point}，{where.zh}")
        en, zh = _WORDS[self.state]
        said = Text(f"{where.en}: {en}", f"{where.zh}：{zh}")
        if self.state == "failed":
            return Text(f"{said.en} ({self.why})", f"{said.zh}（{self.why}）")
        if self.state != "replayed":
            return said
        cell = ("", "")
        if self.cell_number is not None:
            cell = (f"; it ended in cell {self.cell_number}", f"；结束于第 {self.cell_number} 个单元格")
        torn = (f", {self.torn} torn", f"，{self.torn} 条不完整") if self.torn else ("", "")
        return Text(
            f"{said.en}: {self.records} records{torn[0]}, {self.cells_done} of {self.cells_total} cells done{cell[0]}",
            f"{said.zh}：{self.records} 条记录{torn[1]}，已完成 {self.cells_done}/{self.cells_total} 个单元格{cell[1]}",
        )


_WORDS = {
    "whole": ("it ended by itself; nothing to do", "正常结束，无需修复"),
    "replayed": ("its journal was replayed into output.ipynb", "已将日志重放到 output.ipynb"),
    "empty": ("it left no journal: nothing to replay", "没有留下日志，无可重放"),
    "failed": ("its journal could not be replayed", "无法重放日志"),
}


@dataclass(frozen=True)
class Repair:
    run_id: str
    attempts: tuple[Repaired, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"id": self.run_id, "attempts": [one.as_dict() for one in self.attempts]}


def repair(viewer: Viewer, run: str | Path, force: bool = False) -> Repair:
    """`run` is an id or a run folder. Raises NotFound, and Conflict while the job may still write there; `force` is for
    whoever knows that it does not, where Slurm cannot say."""
    folder = place_of(viewer, run)
    if not force:
        _check(viewer, folder)
    attempts = [AttemptFolder(folder.path, number) for number in attempt_numbers(folder.path)]
    for point in point_numbers(folder.path):
        numbers = attempt_numbers(AttemptFolder(folder.path, 1, point).place)
        attempts += [AttemptFolder(folder.path, number, point) for number in numbers]
    return Repair(id_of(folder), tuple(_repaired(attempt) for attempt in attempts))


def _check(viewer: Viewer, folder: RunFolder) -> None:
    run = look(viewer, [folder], ask_queue(viewer))[0][0]
    if run.ended or run.state == "not_submitted":
        return
    state = run.state_text
    raise Conflict(
        Text(
            f"the run {run.id} is not known to have ended ({state.en}): what still writes there would be disturbed. "
            "Where you know that it does not run any more, use --force.",
            f"尚不能确定运行 {run.id} 已结束（{state.zh}）：可能仍有进程在写入。"
            "如果您确知它已不再运行，请使用 --force。",
        )
    )


def _repaired(attempt: AttemptFolder) -> Repaired:
    number, point = attempt.number, attempt.point
    output = str(attempt.output) if attempt.output.exists() else None
    if read_result(attempt) is not None:
        return Repaired(number, "whole", point, output=output)
    if attempt.is_linked:
        return Repaired(number, "failed", point, why="its folder is a link")
    if not attempt.journal.is_file():
        return Repaired(number, "empty", point, output=output)
    with suppress(OSError):
        attempt.recovery.unlink()  # what was replayed before is replayed anew
    try:
        found = recover(attempt.run, number, point)
    except Exception as error:  # whatever a damaged folder holds
        return Repaired(number, "failed", point, output=output, why=f"{type(error).__name__}: {error}"[:300])
    if found is None:
        return Repaired(number, "empty", point)
    return Repaired(
        number,
        "replayed",
        point,
        cells_done=found.cells_done,
        cells_total=found.cells_total,
        cell_number=found.cell_number,
        records=found.records,
        torn=found.torn,
        output=str(attempt.output),
    )
