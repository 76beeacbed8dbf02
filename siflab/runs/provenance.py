"""Where a run comes from and what it was made of.

Three parts, each with one writer: run.json (and git.diff beside it) by who submits; attempts/K/facts.json by the runner
in the job; and what is merged when it is read, with Slurm's account and the hash of the executed notebook.
"""

import hashlib
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import siflab
from siflab.inside import AttemptFolder, attempt_numbers, point_numbers
from siflab.notebook.seeds import find_seeds
from siflab.runs.folder import RunFolder, read_json, write_file, write_json
from siflab.runs.git import PATIENCE, GitState, git_state
from siflab.runs.listing import folder_of
from siflab.runs.preparation import Prepared
from siflab.runs.viewer import Viewer
from siflab.slurm.records import SEPARATOR

_SECRET = re.compile(
    r"(?:^|[_.-])(?:pass|passwd|password|passphrase|pwd|secret|token|credential|auth|(?:api|access|secret|private)[_-]?key)s?$",
    re.IGNORECASE | re.ASCII,
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
MASK = "***"
_LARGEST = 512 << 20
"""Bytes of an executed notebook that is hashed at most."""
_POINTS = 10_000
_SLURM = ("AllocTRES", "NodeList", "NNodes", "Elapsed", "Partition", "Account", "QOS", "Submit", "Start", "End")


def looks_secret(name: str) -> bool:
    """``api_key``, ``hfToken``, ``PASSWORD``; not ``sort_key`` or ``max_tokens_seen``."""
    return _SECRET.search(_CAMEL.sub("_", name)) is not None


def without_secrets(values: dict[str, Any]) -> dict[str, Any]:
    """Parameters, with a mask for the values of those whose name looks secret."""
    return {name: MASK if looks_secret(name) else value for name, value in values.items()}


def arguments_without_secrets(arguments: list[str]) -> list[str]:
    """A script's arguments: ``--token=x`` and ``--token x`` keep their names."""
    shown, masked = [], False
    for argument in arguments:
        name, is_one, _ = argument.partition("=")
        if masked and not argument.startswith("-"):
            shown.append(MASK)
        else:
            shown.append(f"{name}={MASK}" if is_one and looks_secret(name) else argument)
        masked = argument.startswith("-") and not is_one and looks_secret(name)
    return shown


class Recorder:
    """Writes run.json. git is asked beside the submission, which goes on meanwhile."""

    def __init__(self, viewer: Viewer, prepared: Prepared) -> None:
        self.viewer, self.prepared = viewer, prepared
        self._git: GitState | None = None
        self._asking = threading.Thread(target=self._ask, daemon=True)
        self._asking.start()

    def _ask(self) -> None:
        with suppress(OSError, ValueError):
            self._git = git_state(Path(self.viewer.seen(self.prepared.source) or self.prepared.source))

    def write(self, folder: RunFolder) -> None:
        """With what git says; it is waited for as long as it may take. A full disk is no reason to fail."""
        self._asking.join(PATIENCE)
        state = self._git
        with suppress(OSError):
            if state is not None and state.diff:
                write_file(folder.git_diff, state.diff, sync=False)
            write_json(folder.provenance, self._told(folder, state), sync=False)

    def _told(self, folder: RunFolder, git: GitState | None) -> dict[str, Any]:
        prepared, request = self.prepared, read_json(folder.request) or {}
        asked = {name: value for name, value in (request.get("request") or {}).items() if name != "submit_key"}
        asked.update(
            {"parameters": without_secrets(prepared.request.parameters)} if prepared.request.parameters else {}
        )
        arguments = arguments_without_secrets(list(prepared.request.arguments))
        asked.update({"arguments": arguments} if arguments else {})
        return {
            "version": 1,
            "id": folder.id,
            "name": prepared.title,
            "siflab_version": siflab.__version__,
            "created_at": request.get("created_at"),
            "user": self.viewer.user,
            "site": self.viewer.site.name,
            "submitted_from": request.get("submitted_from"),
            "source": {
                "path": prepared.source,
                "sha256": prepared.notebook.sha256,
                "size": len(prepared.notebook.content),
                "git": git.as_dict(folder.git_diff.name) if git is not None else None,
            },
            "image": {**(request.get("image") or {}), "signature": "not checked"},
            "environment": request.get("environment"),
            "parameters": without_secrets(prepared.parameters),
            "arguments": arguments,
            "points": len(prepared.points),
            "seeds": [seed.as_dict() for seed in find_seeds(prepared.notebook)],
            "request": asked,
            "resources": prepared.resources.as_dict(),
            "slurm_options": prepared.resources.sbatch_options(),
        }


def get_provenance(viewer: Viewer, run_id: str) -> dict[str, Any]:
    """`provenance` of a run by its id. Raises NotFound."""
    return provenance(viewer, folder_of(viewer, run_id))


def provenance(viewer: Viewer, folder: RunFolder) -> dict[str, Any]:
    """All that is known of a run, also while it runs: run.json, each attempt's facts, Slurm's account, hashes."""
    told = read_json(folder.provenance) or {"version": 1, "id": folder.id}
    attempts = [_attempt(folder.attempt(number)) for number in folder.attempt_numbers()]
    for point in point_numbers(folder.path)[:_POINTS]:
        numbers = attempt_numbers(AttemptFolder(folder.path, 1, point).place)
        attempts += [_attempt(AttemptFolder(folder.path, number, point)) for number in numbers]
    jobs = {str(one["job_id"]) for one in attempts if one.get("job_id")}
    job_id = (read_json(folder.submission) or {}).get("job_id")
    jobs |= {str(job_id)} if job_id else set()
    return {**told, "attempts": attempts, "slurm": _account(viewer, sorted(job for job in jobs if job.isdigit()))}


def _attempt(attempt: AttemptFolder) -> dict[str, Any]:
    files = {name: read_json(attempt.folder / f"{name}.json") or {} for name in ("job", "end", "facts")}
    result = read_json(attempt.result) or {}
    return {
        "number": attempt.number,
        **({"point": attempt.point} if attempt.point is not None else {}),
        "job_id": files["job"].get("job_id"),
        "node": files["job"].get("node"),
        "started_at": files["job"].get("started_at"),
        "ended_at": files["end"].get("ended_at") or result.get("ended_at"),
        "status": result.get("status"),
        "exit_code": files["end"].get("exit_code"),
        "output_sha256": sha256_of(attempt.output),
        "facts": files["facts"],
    }


def sha256_of(path: Path) -> str | None:
    """None for what is not there, or larger than 512 MiB."""
    digest = hashlib.sha256()
    try:
        if path.stat().st_size > _LARGEST:
            return None
        with path.open("rb") as stream:
            while piece := stream.read(1 << 20):
                digest.update(piece)
    except OSError:
        return None
    return digest.hexdigest()


def _account(viewer: Viewer, jobs: list[str]) -> list[dict[str, str]]:
    """What Slurm gave, a job each; nothing where sacct does not answer."""
    if not jobs:
        return []
    names = ("JobIDRaw", "State", *_SLURM)
    argv = ["sacct", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}", "--allocations"]
    done = viewer.slurm.run([*argv, "--format", ",".join(names), "--jobs", ",".join(jobs[:100])])
    rows = [line.split(SEPARATOR) for line in done.stdout.splitlines()] if done.ok else []
    return [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)]
