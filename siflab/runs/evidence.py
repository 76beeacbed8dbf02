"""What Slurm says about runs: one squeue for all jobs of the user, and one sacct for those that left the queue."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from siflab.errors import SlurmUnreachable
from siflab.runs.viewer import Viewer
from siflab.script.run import COMMENT
from siflab.slurm.commands import sacct_jobs, squeue_jobs
from siflab.slurm.execute import Completed, require_reachable
from siflab.slurm.records import AccountingRecord, QueueRecord, Unreadable, parse_own_squeue, parse_sacct
from siflab.text import Text

_AT_ONCE = 500  # job ids in one sacct; they go by its argument list


@dataclass(frozen=True)
class Evidence:
    """An answer of squeue, and of sacct for the jobs in `asked`.

    Unless `reachable`, nothing at all may be concluded; `message` says why. A job in `asked` without a record in
    `accounting` is one that Slurm knows nothing of any more. `no_accounting`: this cluster keeps no account of ended
    jobs.
    """

    reachable: bool = True
    message: Text | None = None
    queue: dict[str, QueueRecord] = field(default_factory=dict)
    marks: dict[str, str] = field(default_factory=dict)
    accounting: dict[str, list[AccountingRecord]] = field(default_factory=dict)
    asked: frozenset[str] = frozenset()
    no_accounting: bool = False
    elements: dict[str, dict[tuple[str, int], str]] = field(default_factory=dict)
    """Of job arrays, by the run's id: (array's job id, task) -> the element's own job id."""

    def submitted_for(self, run_id: str, known: Sequence[str] = ()) -> str | None:
        """The id that sbatch gave to a job of this run: of an array its own, not an element's. None of `known`."""
        arrays = {array for array, _ in self.elements.get(run_id, {})}
        alone = {self.marks[run_id]} if run_id in self.marks and not arrays else set()
        return max((arrays | alone) - set(known), key=int, default=None)

    def job_of(self, run_id: str) -> str | None:
        """The newest job whose comment names this run; the jobs looked at are the user's own, so a mark is theirs."""
        return self.marks.get(run_id)


def ask_queue(viewer: Viewer, timeout: float | None = None) -> Evidence:
    """What squeue says, within `timeout` seconds if given. Never raises: Slurm out of reach is an answer too."""
    try:
        done = require_reachable(viewer.slurm.run(squeue_jobs(user=viewer.user), timeout=timeout))
        records = parse_own_squeue(_answer(done))
    except (SlurmUnreachable, Unreadable) as error:
        return Evidence(False, _message(error, "squeue"))
    queue = {record.job_id: record for record in records}
    marks: dict[str, str] = {}
    elements: dict[str, dict[tuple[str, int], str]] = {}
    for record in sorted(records, key=lambda record: int(record.job_id)):
        if record.comment.startswith(COMMENT):
            run_id = record.comment.removeprefix(COMMENT)
            marks[run_id] = record.job_id
            if record.array_task_id.isascii() and record.array_task_id.isdigit():
                elements.setdefault(run_id, {})[record.array_job_id, int(record.array_task_id)] = record.job_id
    return Evidence(queue=queue, marks=marks, elements=elements)


def ask_accounting(viewer: Viewer, evidence: Evidence, jobs: Iterable[str]) -> Evidence:
    """`evidence` with what sacct says about `jobs`. When sacct cannot be reached those jobs stay unknown."""
    wanted = sorted({job for job in jobs if job.isdigit()}, key=int)
    if not evidence.reachable or not wanted:
        return evidence
    found: dict[str, list[AccountingRecord]] = {}
    for start in range(0, len(wanted), _AT_ONCE):
        done = viewer.slurm.run(sacct_jobs(wanted[start : start + _AT_ONCE]))
        if not done.ok and "accounting storage is disabled" in done.stderr.lower():
            return replace(evidence, accounting={}, asked=frozenset(wanted), no_accounting=True)
        try:
            records = parse_sacct(_answer(require_reachable(done)))
        except (SlurmUnreachable, Unreadable) as error:
            return replace(evidence, message=_message(error, "sacct"), accounting=found, asked=frozenset(found))
        for record in records:
            found.setdefault(record.job_id, []).append(record)
    return replace(evidence, accounting=found, asked=frozenset(wanted))


def _answer(done: Completed) -> str:
    """What a command that succeeded printed. Raises Unreadable for one that failed in a way that is not known."""
    if done.ok:
        return done.stdout
    raise Unreadable(done.stderr.strip()[:200] or f"exit code {done.returncode}")


def _message(error: Exception, command: str) -> Text:
    if isinstance(error, SlurmUnreachable):
        return error.message
    return Text(
        f"{command} gave no answer that can be used ({error}); states are unknown until it does.",
        f"{command} 未给出可用的回答（{error}）；在此之前状态未知。",
    )
