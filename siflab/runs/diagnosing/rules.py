"""By which words a cause is recognised: one table for exceptions, one for lines of Slurm, Singularity, NCCL and torch.

The words are those of Slurm 22.05 to 25.05, Apptainer 1.2 to 1.4, torch 1.13 to 2.13, NCCL 2.18 to 2.27; each has its
sample in tests/unit/runs/logs. Every pattern is linear: nothing unbounded stands beside another.
"""

import re
import signal
from dataclasses import dataclass

from siflab.runs.diagnosing.tracebacks import Raised


@dataclass(frozen=True)
class Rule:
    """`names` are exceptions' names without module, any if empty; `words` is searched in the message."""

    cause: str
    names: frozenset[str]
    words: re.Pattern[str] | None

    def fits(self, raised: Raised) -> bool:
        if self.names and raised.short_name not in self.names:
            return False
        return self.words is None or self.words.search(raised.text) is not None


def _rule(cause: str, names: str = "", words: str = "") -> Rule:
    return Rule(cause, frozenset(names.split()), re.compile(words, re.ASCII) if words else None)


EXCEPTIONS: tuple[Rule, ...] = (
    # memory of the GPU
    _rule(
        "gpu_memory",
        words=r"^(?:CUDA|HIP) out of memory\b|^(?:CUDA|HIP) error: out of memory|^MPS backend out of memory",
    ),
    _rule("gpu_memory", words=r"CUBLAS_STATUS_ALLOC_FAILED|CUDNN_STATUS_ALLOC_FAILED|CUDA_ERROR_OUT_OF_MEMORY"),
    _rule("gpu_memory", words=r"cudaErrorMemoryAllocation|^Out of memory allocating [\d,]+ bytes"),
    _rule("gpu_memory", "XlaRuntimeError JaxRuntimeError", r"^RESOURCE_EXHAUSTED: "),
    _rule("gpu_memory", "ResourceExhaustedError", r"OOM when allocating|failed to allocate memory"),
    _rule("gpu_memory", "OutOfMemoryError"),
    # shared memory, and workers
    _rule("shared_memory", words=r"DataLoader worker \(pid\(?s?\)? ?[\d, ]{1,200}\) is killed by signal: Bus error"),
    _rule(
        "shared_memory",
        words=r"(?:unable to|could not) (?:\w+ ){1,6}(?:shared memory|file </torch_)",
    ),
    _rule("shared_memory", words=r"No space left on device: '/dev/shm/"),
    _rule("shared_memory", words=r"creating shared memory segment /dev/shm/nccl-|^received 0 items of ancdata"),
    _rule("killed", words=r"DataLoader worker \(pid\(?s?\)? ?[\d, ]{1,200}\) is killed by signal: Killed"),
    _rule(
        "worker_died",
        words=r"DataLoader worker \(pid\(?s?\)? ?[\d, ]{1,200}\) (?:exited unexpectedly|is killed by signal)",
    ),
    _rule("worker_died", "BrokenProcessPool TerminatedWorkerError"),
    # memory of the node
    _rule("allocation", "MemoryError _ArrayMemoryError"),
    _rule("allocation", words=r"DefaultCPUAllocator: |^std::bad_alloc|^bad allocation|Cannot allocate memory"),
    # disks and files
    _rule(
        "disk_full", words=r"\[Errno (?:28|122)\]|No space left on device|Disk quota exceeded|database or disk is full"
    ),
    _rule("disk_full", words=r"PytorchStreamWriter failed writing file|errno = 28\b"),
    _rule("disk_full", "DiskFull"),
    _rule("read_only", words=r"\[Errno 30\]|Read-only file system"),
    _rule("permission", "PermissionError"),
    _rule("permission", words=r"\[Errno 13\]|Permission denied:"),
    # driver, CUDA and the image
    _rule(
        "driver", words=r"The NVIDIA driver on your system is too old|driver version is insufficient for CUDA runtime"
    ),
    _rule(
        "driver",
        words=r"forward compatibility was attempted on non supported HW|unsupported display driver / cuda driver",
    ),
    _rule("driver", words=r"PTX was compiled with an unsupported toolchain|[Dd]river/library version mismatch"),
    _rule("no_kernel_image", words=r"no kernel image is available for execution|CUDA_ERROR_NO_BINARY_FOR_GPU"),
    _rule("no_kernel_image", words=r"device kernel image is invalid"),
    _rule("cpu_build", words=r"^Torch not compiled with CUDA enabled|Distributed package doesn't have NCCL built in"),
    _rule("no_gpu", words=r"No CUDA GPUs are available|Found no NVIDIA driver on your system|no CUDA-capable device"),
    _rule("no_gpu", words=r"only supported with GPUs, no GPUs found|torch\.cuda\.is_available\(\) is False"),
    _rule("device_number", words=r"invalid device ordinal|device >= 0 && device < num_gpus"),
    _rule("gpu_broken", words=r"uncorrectable (?:ECC|NVLink) error|GPU is lost|has fallen off the bus"),
    _rule("gpu_program", words=r"device-side assert triggered|an illegal memory access was encountered"),
    _rule("gpu_program", words=r"unspecified launch failure|^CUDA error: misaligned address"),
    # ranks that meet and talk
    _rule("port_in_use", words=r"EADDRINUSE|[Aa]ddress already in use|\[Errno 98\]"),
    _rule("collective_timeout", words=r"collective operation timeout: Work|Timed out waiting \d+ms for (?:recv|send)"),
    _rule(
        "peer_lost",
        words=r"Connection (?:closed|reset) by (?:remote )?peer|remote process exited or there was a network error",
    ),
    _rule("peer_lost", words=r"failed to recv, got 0 bytes|Connection was likely closed|Broken pipe|ncclRemoteError"),
    _rule("peer_lost", "ChildFailedError SignalException RendezvousClosedError RendezvousGracefulExitError"),
    _rule("rendezvous", "RendezvousTimeoutError RendezvousConnectionError RendezvousStateError RendezvousError"),
    _rule("rendezvous", "DistStoreError DistNetworkError"),
    _rule(
        "rendezvous",
        words=r"client socket has (?:timed out|failed to connect)|waiting for clients\. \d+/\d+ clients joined",
    ),
    _rule("rendezvous", words=r"wait timeout after \d+ms, keys: "),
    _rule("nccl", "DistBackendError"),
    _rule("nccl", words=r"^NCCL error|NCCL Error \d+:"),
    _rule(
        "network",
        "gaierror MaxRetryError NewConnectionError ConnectTimeout LocalEntryNotFoundError OfflineModeIsEnabled",
    ),
    _rule(
        "network", words=r"Name or service not known|Temporary failure in name resolution|Max retries exceeded with url"
    ),
    _rule("network", words=r"^<?urlopen error |Network is unreachable"),
    # modules and files
    _rule("shadowed_module", words=r"partially initialized module '|consider renaming '"),
    _rule("missing_library", words=r"cannot open shared object file|GLIBC(?:XX)?_[\d.]+' not found|undefined symbol: "),
    _rule("missing_module", "ModuleNotFoundError"),
    _rule("missing_module", "ImportError", r"^No module named "),
    _rule("wrong_version", "ImportError", r"^cannot import name "),
    _rule("missing_file", "FileNotFoundError NotADirectoryError"),
    _rule("missing_file", words=r"\[Errno 2\]|No such file or directory"),
    # the runner's own
    _rule("exit_called", "NotebookExit"),
    _rule("cell_timeout", "CellTimeout"),
    _rule("image_unfit", "NoSuchKernel ImageIncomplete KernelDidNotStart"),
    _rule("bind", "WorkdirMissing"),
    _rule("bad_notebook", "BadNotebook"),
    _rule("disk_full", "CannotWrite"),
)
SECONDARY = frozenset({"peer_lost"})
"""What a rank says because another one ended first."""
REPORTS = frozenset({"ChildFailedError", "SignalException"})
"""What torchrun itself raises at the end."""

# a line of a program around the notebook; the first row that fits any line counts
_SLURM = r"^(?:\S{1,80} )?slurmstepd(?:-\S{1,80})?: error: "
_TASK = r"^srun: error: [\w.-]{1,80}: tasks? [\d,-]{1,80}: "
_FATAL = r"^FATAL: {1,4}"
_GROUP = r"^(?:\[.{1,160}ProcessGroup|  what\(\): )"
LINES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (cause, re.compile(pattern, re.ASCII))
    for cause, pattern in (
        ("host_memory", _SLURM + r"Detected \d{1,9} oom[-_ ]kill event"),
        (
            "host_memory",
            _SLURM + r"(?:Exceeded (?:job|step) memory limit|(?:Job|Step) [\d.]{1,40} exceeded memory limit)",
        ),
        ("host_memory", _TASK + r"Out Of Memory"),
        ("time_limit", _SLURM + r"\*\*\* .{1,120} DUE TO TIME LIMIT \*\*\*"),
        ("preemption", _SLURM + r"\*\*\* .{1,120} DUE TO PREEMPTION \*\*\*"),
        ("node_failure", _SLURM + r"\*\*\* .{1,120} DUE TO NODE FAILURE"),
        ("bind", _FATAL + r"container creation failed: .{1,600} mount source .{1,300} doesn't exist"),
        ("bind", _FATAL + r"container creation failed: .{1,300}destination .{1,300} doesn't exist in container"),
        ("image_broken", _FATAL + r"container creation failed: .{1,600}(?:bad superblock|squashfuse|mounting image)"),
        ("image_broken", _FATAL + r".{0,200}(?:could not open image|image format not recognized|while opening image)"),
        ("container", _FATAL),
        ("collective_timeout", _GROUP + r".{0,200}Watchdog caught collective operation timeout: Work"),
        ("nccl", r"^[\w.-]{1,80}:\d{1,9}:\d{1,9} \[\d{1,4}\] .{0,120}NCCL WARN "),
        ("nccl", _GROUP + r".{0,300}NCCL error: "),
        ("rendezvous", r"^\[[WE].{1,120}\[c10d\] The IPv[46] network addresses of .{1,200} cannot be retrieved"),
        ("shared_memory", _TASK + r"Bus error"),
        ("crash", _TASK + r"(?:Segmentation fault|Aborted|Illegal instruction|Floating point exception)"),
        ("crash", r"^Fatal Python error: (?:Segmentation fault|Aborted|Illegal instruction|Bus error)"),
        ("step_failed", r"^srun: error: Unable to (?:create step|confirm allocation|allocate resources)"),
    )
)

_ROOT = re.compile(r"^ {2}rank {1,10}: (\d{1,6}) \(local_rank: \d{1,6}\)", re.ASCII)
_HOST = re.compile(r"^ {2}host {1,10}: ([\w.-]{1,200})", re.ASCII)
_CODE = re.compile(r"^ {2}exitcode {1,10}: (-?\d{1,6}) \(pid: ", re.ASCII)


@dataclass(frozen=True)
class RootCause:
    """What torchrun reports as ``Root Cause (first observed failure)``; `exit_code` is negative for a signal."""

    rank: int | None = None
    exit_code: int | None = None
    host: str | None = None


def of_exception(raised: Raised) -> str | None:
    return next((rule.cause for rule in EXCEPTIONS if rule.fits(raised)), None)


def of_lines(lines: list[str], causes: frozenset[str] | None = None) -> tuple[str, str] | None:
    """(cause, the line), by the first row of the table that fits one; only rows of `causes`, if given."""
    for cause, pattern in LINES:
        if causes is None or cause in causes:
            for line in lines:
                if pattern.match(line):
                    return cause, line.strip()
    return None


def root_cause(lines: list[str]) -> RootCause | None:
    """Of torchrun's reports, of which each node writes one: that of a process that was killed by another signal than
    the SIGTERM that ends the rest, else the first."""
    starts = [index for index, line in enumerate(lines) if line.startswith("Root Cause (first observed failure):")]
    reports = [_report(lines[start + 1 : start + 8]) for start in starts]
    killed = [report for report in reports if (report.exit_code or 0) < 0 and report.exit_code != -signal.SIGTERM]
    return next(iter([*killed, *reports]), None)


def _report(lines: list[str]) -> RootCause:
    rank, code, host = None, None, None
    for line in lines:
        if match := _ROOT.match(line):
            rank = int(match[1])
        elif match := _CODE.match(line):
            code = int(match[1])
        elif match := _HOST.match(line):
            host = match[1]
    return RootCause(rank, code, host)
