"""What is left of an attempt that was killed: its journal, replayed into its output notebook.

Called by whoever opens the run, on whatever machine, when Slurm says that the job is over and there is no result. The
standard library is enough. It may be called again, and by several at once: all write the same.
"""

from __future__ import annotations

import errno
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from . import papermill_metadata, stopping
from .attempt import AttemptFolder, now, read_json
from .journal import read_journal
from .notebook import blank, close_states, code_numbers, count_ended, read_notebook, state_of
from .outputs import Outputs
from .result import read_result
from .saving import notebook_bytes, replace_file, replace_json
from .spill import limit_of


@dataclass(frozen=True)
class Recovery:
    """Where an attempt was when it ended. `status`: "killed", or what the runner still could say
    (`result.EXIT_CODES`) before it was killed. `cell` is the index among all cells from 0 and `cell_number` the
    number among code cells from 1 of the cell in which it ended, None between two cells or before the first."""

    status: str
    cells_total: int
    cells_done: int
    cell: int | None
    cell_number: int | None
    records: int
    torn: int
    journal_bytes: int
    recovered_at: str


def recover(run: Path | str, number: int, point: int | None = None) -> Recovery | None:
    """Replay the journal of attempt `number` (of a sweep's point, if given) into its output.ipynb; None when the
    attempt has a result, or never began to write. What was already replayed is not replayed again. Raises OSError, also
    for a folder that is a link, and BadNotebook."""
    attempt = AttemptFolder(Path(run), number, point)
    if attempt.is_linked:
        raise OSError(errno.ELOOP, "its folder is a link", str(attempt.folder))
    if not attempt.folder.is_dir() or read_result(attempt) is not None:
        return None
    journal_bytes = attempt.journal.stat().st_size if attempt.journal.exists() else 0
    before = _read(attempt)
    if before is not None and before.journal_bytes == journal_bytes and attempt.output.exists():
        return before
    notebook = read_notebook(attempt.output if attempt.output.exists() else attempt.input)
    blank(notebook)
    outputs = Outputs(notebook, attempt.folder, limit_of(read_json(attempt.request) or {}))
    status, records, torn, last = "killed", 0, 0, None
    for record in read_journal(attempt.journal):
        if record is None:
            torn += 1
            continue
        records += 1
        last = record.get("at") or last
        if record["type"] == "@end":
            status = str(record["status"])
        outputs.apply(record)
    outputs.settle()
    cell = close_states(notebook, "killed", last)
    if cell is None:
        marked = [
            index for index in code_numbers(notebook) if state_of(notebook, index) in ("failed", "stopped", "killed")
        ]
        cell = marked[-1] if marked else None
    about = notebook["metadata"].get("siflab")
    facts = {**about} if isinstance(about, dict) else {"attempt": number}
    notebook["metadata"]["siflab"] = {**facts, "status": status, "recovered": True}
    papermill_metadata.end(notebook, status, last or now())
    replace_file(attempt.output, notebook_bytes(notebook))
    numbers = code_numbers(notebook)
    found = Recovery(
        status=status,
        cells_total=len(numbers),
        cells_done=count_ended(notebook),
        cell=cell,
        cell_number=None if cell is None else numbers[cell],
        records=records,
        torn=torn,
        journal_bytes=journal_bytes,
        recovered_at=now(),
    )
    replace_json(attempt.recovery, asdict(found))
    _sweep(attempt)
    return found


def _read(attempt: AttemptFolder) -> Recovery | None:
    value = read_json(attempt.recovery)
    if value is None or set(value) != set(Recovery.__dataclass_fields__):
        return None
    return Recovery(**value)


def _sweep(attempt: AttemptFolder) -> None:
    """What the killed runner could not tidy up: its reserve, and a file half written."""
    stopping.clear(attempt)
    for path in [attempt.reserve, *attempt.folder.glob(".*.tmp")]:
        with suppress(OSError):
            path.unlink()
