"""What git says of the folder of a notebook: commit, branch, and what is not committed.

Run as the user, with a time limit, and with nothing of a repository's own settings that would run a program: no hooks,
no fsmonitor, no pager, no external diff, no text conversion. A repository of somebody else is refused by git itself
(safe.directory).
"""

import os
import select
import shutil
import subprocess  # argument lists only
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DIFF_LIMIT = 1 << 20
"""Bytes of the diff that are kept."""
_STATUS_LIMIT = 1 << 20
PATIENCE = 3.0
"""Seconds that all of it may take."""
_SAFE = [
    "git", "--no-pager", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "core.untrackedCache=false", "-c", "diff.external=", "-c", "color.ui=false", "-c", "protocol.allow=never",
]  # fmt: skip

_ITS_SCOPES = ("local", "worktree")
_NO_FILTER = {"clean": "", "smudge": "", "process": "", "required": "false"}


@dataclass(frozen=True)
class GitState:
    """`changed`: how many tracked files differ from the commit; `tracked`: whether the notebook itself is in git.
    `diff` is that of all of them, `truncated` when it was longer than is kept or could not be had in time."""

    commit: str | None
    branch: str | None
    changed: int
    tracked: bool
    diff: bytes = b""
    truncated: bool = False

    def as_dict(self, diff_file: str) -> dict[str, Any]:
        return {
            "commit": self.commit,
            "branch": self.branch,
            "changed_files": self.changed,
            "source_tracked": self.tracked,
            "diff": diff_file if self.diff else None,
            "diff_truncated": self.truncated,
        }


def git_state(source: Path, patience: float = PATIENCE) -> GitState | None:
    """Of the repository in which `source` lies; None when there is none, or no git, or it takes too long."""
    if shutil.which("git") is None or not source.parent.is_dir():
        return None
    until, folder = time.monotonic() + patience, str(source.parent)
    filters = _without_its_filters(folder, until)
    if filters is None:
        return None
    words = ["status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=dirty"]
    status, whole = _run(words, folder, until, _STATUS_LIMIT, filters)
    if status is None or not whole:
        return None
    lines = status.decode("utf-8", "replace").splitlines()
    about = dict(line[2:].split(" ", 1) for line in lines if line.startswith("# branch.") and " " in line[2:])
    commit, branch = about.get("branch.oid"), about.get("branch.head")
    changed = sum(line[:1] in ("1", "2", "u") for line in lines)
    tracked, _ = _run(["ls-files", "--", f":(literal){source.name}"], folder, until, 4096, filters)
    diff, complete = b"", True
    if changed and commit != "(initial)":
        words = ["diff", "HEAD", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"]
        told, complete = _run(words, folder, until, DIFF_LIMIT, filters)
        diff, complete = (told, complete) if told is not None else (b"", False)
    return GitState(
        commit=None if commit in (None, "(initial)") else commit,
        branch=None if branch in (None, "(detached)") else branch,
        changed=changed,
        tracked=bool(tracked),
        diff=diff,
        truncated=not complete,
    )


def _without_its_filters(folder: str, until: float) -> dict[str, str] | None:
    """Environment in which the filters that the repository itself defines run nothing: its configuration may have come
    with an archive. Those of the user and the machine, such as Git LFS, stay. None when they cannot be known."""
    told, whole = _run(["config", "--show-scope", "-z", "--list"], folder, until, _STATUS_LIMIT)
    if told is None or not whole:
        return None
    words = told.decode("utf-8", "surrogateescape").split("\0")
    keys = {key.partition("\n")[0] for scope, key in zip(words[::2], words[1::2], strict=False) if scope in _ITS_SCOPES}
    names = sorted({key.rpartition(".")[0] for key in keys if key.startswith("filter.")})
    settings = [(f"{name}.{word}", value) for name in names for word, value in _NO_FILTER.items()]
    environment = {"GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _run(
    words: list[str], folder: str, until: float, limit: int, more: Mapping[str, str] | None = None
) -> tuple[bytes | None, bool]:
    """(what it printed, at most `limit` bytes, and whether that is all); None when it failed or took too long."""
    try:
        process = subprocess.Popen(
            [*_SAFE, *words],
            cwd=folder,
            env={**_environment(), **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        return None, False
    assert process.stdout is not None
    try:
        data, complete = _read(process, until, limit)
        if complete and process.wait(max(0.0, until - time.monotonic())) != 0:
            return None, False
        return data, complete
    except (OSError, subprocess.TimeoutExpired):
        return None, False
    finally:
        if process.poll() is None:
            with suppress(OSError):
                os.killpg(process.pid, 9)
            process.wait()
        process.stdout.close()


def _read(process: "subprocess.Popen[bytes]", until: float, limit: int) -> tuple[bytes, bool]:
    """Raises TimeoutExpired."""
    assert process.stdout is not None
    chunks: list[bytes] = []
    size = 0
    while True:
        left = until - time.monotonic()
        if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
            raise subprocess.TimeoutExpired("git", PATIENCE)
        chunk = os.read(process.stdout.fileno(), 1 << 16)
        if not chunk:
            return b"".join(chunks), True
        chunks.append(chunk)
        size += len(chunk)
        if size > limit:
            return b"".join(chunks)[:limit], False


def _environment() -> dict[str, str]:
    """Nothing that leads git elsewhere or makes it run or ask for something."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **kept,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_PAGER": "cat",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }
