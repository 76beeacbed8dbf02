"""In the place of `siflab.slurm.execute.Slurm`: remembers what it is asked, answers as Slurm 22.05 or 24.11 does.

The rows are those that 22.05 gave for runs of a real cluster, in the fields of `siflab.slurm.records`; what was found to
differ in 24.11 (the spelling of GRES, the start of a job that never ran, the exit code of NODE_FAIL) is here as it says it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from siflab.slurm.execute import Completed
from siflab.slurm.records import SEPARATOR

VERSIONS = ("22.05", "24.11")
STARTED, ENDED = "2026-12-01T03:11:12", "2026-12-01T03:11:19"
NEVER_RAN = {"22.05": ENDED, "24.11": "None"}
GRES = {"22.05": "gres:gpu:a100:2", "24.11": "gres/gpu:a100:2"}
NO_GRES = "N/A"


@dataclass
class FakeSlurm:
    """`queue` and `accounting` are rows by job id; `answers` replaces what one command says."""

    cluster: str | None = None

    version: str = "22.05"
    next_job: int = 42
    queue: dict[str, str] = field(default_factory=dict)
    accounting: dict[str, list[str]] = field(default_factory=dict)
    answers: dict[str, Completed | Callable[..., Completed]] = field(default_factory=dict)
    asked: list[list[str]] = field(default_factory=list)
    timeouts: list[tuple[list[str], float | None]] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)

    def locate(self, name: str) -> str | None:
        return f"/usr/bin/{name}"

    def run(self, argv, *, stdin=None, cwd=None, timeout=None) -> Completed:
        self.asked.append(list(argv))
        self.timeouts.append((list(argv), timeout))
        answer = self.answers.get(argv[0])
        if answer is not None:
            return answer(argv, stdin) if callable(answer) else answer
        return getattr(self, "_" + argv[0])(list(argv), stdin)

    def count(self, command: str) -> int:
        return sum(argv[0] == command for argv in self.asked)

    def queued(self, job_id: str, state: str, *, reason: str = "None", comment: str = "", start: str = STARTED) -> None:
        """A row of squeue."""
        host = "" if state == "PENDING" else "gpu01"
        row = [job_id, job_id, "N/A", "user1", state, reason, host or "n/a", start, "N/A", STARTED, "29:50", "gpu-a100",
               "30:00", GRES[self.version], "train", comment]  # fmt: skip
        self.queue[job_id] = SEPARATOR.join(row)

    def accounted(
        self,
        job_id: str,
        state: str,
        code: str = "0:0",
        *,
        nodes: str = "gpu01",
        steps: tuple[tuple[str, str, str], ...] = (),
        start: str = STARTED,
        end: str = ENDED,
    ) -> None:
        """Rows of sacct: the job, and `steps` (name, state, exit code)."""
        start = NEVER_RAN[self.version] if nodes == "None assigned" else start
        rows = [[job_id, "user1", state, code, "None", nodes, start, end, STARTED, "00:30:00", ""]]
        rows += [
            [f"{job_id}.{name}", "", its, exit_code, "", nodes, start, end, start, "", "87400K"]
            for name, its, exit_code in steps
        ]
        self.accounting[job_id] = [SEPARATOR.join(row) for row in rows]
        self.queue.pop(job_id, None)

    def _squeue(self, argv, stdin):
        return done(argv, "".join(f"{row}\n" for row in self.queue.values()))

    def _sacct(self, argv, stdin):
        ids = argv[-1].split(",")
        return done(argv, "".join(f"{row}\n" for job in ids for row in self.accounting.get(job, [])))

    def _sbatch(self, argv, stdin):
        if "--test-only" in argv:
            said = "sbatch: Job 7 to start at 2026-12-01T05:00:00 using 2 processors on nodes gpu01 in partition gpu-a100\n"
            return done(argv, "", said)
        self.scripts.append(stdin)
        job_id = str(self.next_job)
        self.next_job += 1
        (comment,) = [line.partition("=")[2] for line in stdin.splitlines() if line.startswith("#SBATCH --comment=")]
        self.queued(job_id, "PENDING", reason="Priority", comment=comment, start="N/A")
        return done(argv, f"{job_id}\n")

    def _scontrol(self, argv, stdin):
        return done(argv, "PartitionName=gpu-a100 AllowGroups=ALL MaxTime=06:00:00 State=UP\n")

    def _scancel(self, argv, stdin):
        for job_id in argv[1:]:
            self.accounted(job_id, "CANCELLED by 1001", nodes="None assigned")
        return done(argv)


def done(argv, stdout: str = "", stderr: str = "", code: int = 0) -> Completed:
    return Completed(tuple(argv), code, stdout, stderr)


def failing(stderr: str, code: int = 1) -> Completed:
    return Completed(("command",), code, "", stderr)


UNREACHABLE = failing("slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n")
TIMED_OUT = failing("sbatch: no answer within 60 s", 124)
SOCKET = failing("sbatch: error: Batch job submission failed: Socket timed out on send/recv operation\n")
