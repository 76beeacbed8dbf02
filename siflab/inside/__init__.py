"""What a run carries into its container: the runner, its files' formats, and the helpers that a notebook may import.

The package needs Python 3.9, nbclient and ipykernel of the image; what reads a run's files (all that is named below)
needs the standard library alone, so `siflab.runs` calls it on a login node. It imports nothing of the rest of Siflab.

Started as ``python runner.pyz --run RUNFOLDER --attempt K``, with paths as seen inside the container.
``build_archive()`` gives the bytes of ``runner.pyz``.

**Read by the runner** in the run folder: ``input.ipynb``, never written; ``request.json`` with the keys ``id``,
``name``, ``notebook`` (path of the source, inside), ``workdir`` (folder in which the cells run, inside), ``kernel``
(a name, or null for the notebook's own), ``mode`` ("notebook"), and, if given, ``image`` (noted in the output
notebook as it is), ``signal`` (the warning before the time limit: USR2, USR1, TERM or INT), ``warning_seconds``
(between it and the limit), ``output_limit`` (characters of streams that a cell may have in the notebook: `spill`).

**Written by the runner** in ``attempts/K/``, each file by one writer, each JSON file replaced atomically:

=================== ==================================================================================================
output.ipynb        the executed notebook, valid at every instant; ``metadata.siflab`` = {run, name, attempt, status,
                    image, recovered}; in each code cell ``metadata.siflab`` = {status, number, started_at, ended_at}
                    with a status of `notebook.CELL_STATES`
outputs.jsonl       the journal: one record a line, as messages arrive (format: `journal`)
progress.json       `Progress`: cells_total, cells_done (code cells), current_cell (number among code cells, from 1) and
                    current_index (among all cells, from 0) or null, phase "starting|running|finished", updated_at
result.json         `Result`, written once, last: status, exit_code, started_at, ended_at, error, signal, message
                    {en, zh} (what happened, why, what to do), warnings [{en, zh}], cells_total, cells_done, python,
                    node, job_id, restart_count, saved (whether a stopped run saved a checkpoint, or ended its cell by
                    itself, since it was asked to stop), resumable (whether its checkpoint folder holds anything)
metrics.jsonl       what the notebook gave to ``siflab.record(loss=...)``, one line each:
                    {"at": ..., "rank": 0, "values": {"loss": ...}}
usage.jsonl         samples of CPU, memory, data and GPUs (see `usage`; ``usage-N.jsonl`` of node N)
usage.json          their summary, written at the end
logs/run.log        what the cells print, as text, with a mark before each cell; of a progress bar the last state
logs/cell-N.txt     all that code cell N printed, where it was more than the notebook should hold; it is linked there
logs/kernel.log     file descriptors 1 and 2 of the kernel
recovery.json       written by `recover`: what was replayed (a run that ended by itself has none)
=================== ==================================================================================================

Times are ISO 8601 with an offset. Exit codes (`result.EXIT_CODES`): 0 completed, 1 failed (a cell raised), 2 wrong
arguments, 3 dead_kernel, 4 timeout, 5 stopped (by a signal), 70 internal (the runner could not do its work: no such
kernel, disk full, unreadable notebook; ``error.ename`` says which).

For readers: ``attempt = AttemptFolder(run_folder, 1)``; ``read_progress(attempt)`` and ``read_result(attempt)`` give
None while the file is not there; ``recover(run_folder, number)`` replays the journal of an attempt that is over
without a result (call it only when Slurm says that the job ended) into its output.ipynb and says where it was."""

from .archive import build_archive
from .attempt import AttemptFolder, attempt_numbers, point_numbers
from .progress import Progress, read_progress
from .recovery import Recovery, recover
from .result import EXIT_CODES, Failure, Result, read_result

__all__ = [
    "EXIT_CODES",
    "AttemptFolder",
    "Failure",
    "Progress",
    "Recovery",
    "Result",
    "attempt_numbers",
    "build_archive",
    "point_numbers",
    "read_progress",
    "read_result",
    "recover",
]
