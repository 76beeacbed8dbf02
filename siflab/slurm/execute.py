"""How a Slurm command is run: here, as oneself or as another user, never through a shell.

In a session the names in PATH are the bridge's clients, so the same code serves inside and outside a container.
"""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from siflab.errors import SlurmUnreachable
from siflab.slurm.answers import is_unconnected, is_unreachable
from siflab.slurm.bounded import TooMuch, communicate
from siflab.slurm.clusters import OtherCluster, in_cluster, own_answer
from siflab.text import Text

_PASSED_ON = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TZ", "KRB5CCNAME", "SLURM_CONF", "SIFLAB_DIR")
_NOT_RUN = (127, 69, 70, 71, 75)
"""No such command; a session's bridge is not there or did not run it (`siflab.node.client`)."""
_UNUSABLE = 76
_NO_ANSWER = (124, _UNUSABLE, *_NOT_RUN)
"""Also: ended at its time limit; the bridge went away meanwhile, too much was printed, or another cluster answered."""
_REAPED_IN = 2.0  # seconds for a process to be gone after SIGKILL
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Completed:
    """A command that ended. `returncode` is 124 when it was ended at its time limit, 127 when it is not installed."""

    argv: tuple[str, ...]
    returncode: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        return self.returncode == 0

    @property
    def unreachable(self) -> bool:
        """Nothing may be concluded from it: it timed out, could not be run, was killed (its user can do that), or Slurm
        could not be reached."""
        killed = self.returncode < 0
        return killed or self.returncode in _NO_ANSWER or (self.returncode != 0 and is_unreachable(self.stderr))

    @property
    def not_run(self) -> bool:
        """The command never reached Slurm, so that it changed nothing: it is not installed, the bridge of a session did
        not run it, or slurmctld could not be connected to."""
        return self.returncode in _NOT_RUN or (self.returncode != 0 and is_unconnected(self.stderr))


@dataclass(frozen=True)
class PosixUser:
    """Whom a child process runs as."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]
    home: str
    shell: str

    @classmethod
    def find(cls, name: str) -> "PosixUser":
        """From the passwd database, with the name as that has it: a directory may answer to ``User1`` with ``user1``,
        and Slurm knows the latter. May block on a directory service. Raises KeyError."""
        entry = pwd.getpwnam(name)
        groups = tuple(os.getgrouplist(entry.pw_name, entry.pw_gid))
        return cls(entry.pw_name, entry.pw_uid, entry.pw_gid, groups, entry.pw_dir, entry.pw_shell or "/bin/sh")


class Through(Protocol):
    """How a process that is not root has a command run as another user."""

    async def arun(self, argv: Sequence[str], user: PosixUser, stdin: str | None, timeout: float) -> Completed: ...


observers: "list[Callable[[Completed, float], None]]" = []
"""Told of each command that `Slurm.arun` ran, and its seconds."""


@dataclass(frozen=True)
class Slurm:
    """Slurm's client commands: in `bin_dir` (PATH if None), with `conf` as SLURM_CONF (the cluster's own if None).

    With `cluster` they are sent to the cluster of that name. `timeout` in seconds ends a command that does not answer:
    MessageTimeout of Slurm is 10 s by default, and a client tries more than once. Commands as a user go `through`
    what is given here, else by uid and gid, which takes root.
    """

    bin_dir: str | None = None
    conf: str | None = None
    timeout: float = 60.0
    cluster: str | None = None
    through: Through | None = None

    def environment(self, user: PosixUser | None = None) -> dict[str, str]:
        """What a command gets, and with ``sbatch --export=ALL`` the job: a short list. SLURM_*, SBATCH_*, SRUN_* and
        PMIX_* of a job that we run in would change what is submitted (a 3x slowdown by SLURM_CPU_BIND was seen)."""
        env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        env["PATH"] = _PATH
        env.setdefault("LANG", "C.UTF-8")
        if user is not None:
            env.pop("KRB5CCNAME", None)  # another's credentials
            env.update(HOME=user.home, USER=user.name, LOGNAME=user.name, SHELL=user.shell)
        if self.conf:
            env["SLURM_CONF"] = self.conf
        return env

    def locate(self, name: str) -> str | None:
        """The absolute path of a client command, or None."""
        if Path(name).is_absolute():
            return name
        if self.bin_dir:
            path = Path(self.bin_dir) / name
            return str(path) if os.access(path, os.X_OK) else None
        return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_PATH}")

    def run(
        self, argv: Sequence[str], *, stdin: str | None = None, cwd: str | None = None, timeout: float | None = None
    ) -> Completed:
        """Run one command as oneself. Never raises for what the command does; `stdin` is its whole standard input."""
        path = self.locate(argv[0])
        if path is None:
            return _not_found(argv)
        try:
            done = subprocess.run(
                [path, *in_cluster(argv, self.cluster)[1:]],
                input=_encode(stdin) if stdin is not None else None,
                stdin=subprocess.DEVNULL if stdin is None else None,
                capture_output=True,
                cwd=cwd,
                env=self.environment(),
                timeout=timeout or self.timeout,
                start_new_session=True,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _timed_out(argv, timeout or self.timeout)
        except OSError as error:
            return Completed(tuple(argv), 127, "", f"{argv[0]}: {error}")
        return self._answer(argv, done.returncode, done.stdout, done.stderr)

    async def arun(
        self,
        argv: Sequence[str],
        *,
        user: PosixUser | None = None,
        stdin: str | None = None,
        cwd: str | None = None,
        timeout: float | None = None,
    ) -> Completed:
        """The same without blocking an event loop, and as `user` where one is given.

        When the caller is cancelled the command is ended. A command that must not be broken off (sbatch) is to be
        shielded by its caller.
        """
        begun = time.monotonic()
        done = await self._arun(argv, user, stdin, cwd, timeout)
        for observe in observers:
            observe(done, time.monotonic() - begun)
        return done

    async def _arun(
        self, argv: Sequence[str], user: PosixUser | None, stdin: str | None, cwd: str | None, timeout: float | None
    ) -> Completed:
        if user is not None and self.through is not None:
            done = await self.through.arun(in_cluster(argv, self.cluster), user, stdin, timeout or self.timeout)
            return self._answer(argv, done.returncode, _encode(done.stdout), _encode(done.stderr))
        path = self.locate(argv[0])
        if path is None:
            return _not_found(argv)
        identity: dict[str, object] = {}
        if user is not None and (os.geteuid() != user.uid or os.geteuid() == 0):
            identity = {"user": user.uid, "group": user.gid, "extra_groups": list(user.groups)}
        try:
            process = await asyncio.create_subprocess_exec(
                path,
                *in_cluster(argv, self.cluster)[1:],
                stdin=asyncio.subprocess.DEVNULL if stdin is None else asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd or "/",
                env=self.environment(user),
                start_new_session=True,
                umask=0o077,
                **identity,  # type: ignore[arg-type]
            )
        except OSError as error:
            return Completed(tuple(argv), 127, "", f"{argv[0]}: {error}")
        data = _encode(stdin) if stdin is not None else None
        try:
            out, err = await asyncio.wait_for(communicate(process, data), timeout or self.timeout)
        except asyncio.TimeoutError:
            await _end_and_reap(process)
            return _timed_out(argv, timeout or self.timeout)
        except TooMuch as error:
            await _end_and_reap(process)
            return Completed(tuple(argv), _UNUSABLE, "", f"{argv[0]}: {error}")
        except asyncio.CancelledError:
            _end(process)
            raise
        return self._answer(argv, process.returncode or 0, out, err)

    def _answer(self, argv: Sequence[str], returncode: int, out: bytes, err: bytes) -> Completed:
        try:
            return Completed(tuple(argv), returncode, own_answer(argv[0], _decode(out), self.cluster), _decode(err))
        except OtherCluster as error:
            return Completed(tuple(argv), _UNUSABLE, "", f"{argv[0]}: {error}")


def require_reachable(done: Completed) -> Completed:
    """`done` itself, or SlurmUnreachable with what the command said."""
    if not done.unreachable:
        return done
    words = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    raise SlurmUnreachable(
        Text(
            f"Slurm cannot be reached at present ({done.argv[0]}: {words[:300]}). "
            "Jobs that run are not affected; try again in a while.",
            f"目前无法连接 Slurm（{done.argv[0]}：{words[:300]}）。正在运行的作业不受影响，请稍后再试。",
        )
    )


async def _end_and_reap(process: asyncio.subprocess.Process) -> None:
    """One that waits inside the kernel for a file system that is away cannot be ended; nobody waits for it."""
    _end(process)
    try:
        await asyncio.wait_for(process.wait(), _REAPED_IN)
    except asyncio.TimeoutError:
        pass


def _end(process: asyncio.subprocess.Process) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _not_found(argv: Sequence[str]) -> Completed:
    return Completed(
        tuple(argv), 127, "", f"{argv[0]}: command not found (neither in slurm.bin of site.yaml nor in PATH)"
    )


def _timed_out(argv: Sequence[str], seconds: float) -> Completed:
    return Completed(tuple(argv), 124, "", f"{argv[0]}: no answer within {seconds:g} s")
