"""Daemons without systemd: started in the background, found again, and ended for certain.

A daemon is known by a mark in its environment (`SIFLAB_DAEMON=<root>:<role>`), not by a pid file: a file can outlive
its process (kill -9, power cut) and its number can be another's by then. A zombie has no environment, so it never
counts as running; PID 1 of a container may take its time to reap it.
"""

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from cluster.lab.trouble import Trouble
from siflab.text import Text

MARK = "SIFLAB_DAEMON"
PATH = "/usr/sbin:/usr/bin:/sbin:/bin"


def all_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def mark_of(pid: int) -> str | None:
    """The mark in a process's environment; None for a zombie, a process of others, or one that has gone."""
    try:
        environment = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    for entry in environment.split(b"\0"):
        name, _, value = entry.partition(b"=")
        if name == MARK.encode():
            return os.fsdecode(value)
    return None


def start_time(pid: int) -> int:
    """When it started, in clock ticks since boot (proc(5), stat, field 22)."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return 0


def marked(root: Path, role: str | None = None) -> list[int]:
    """Processes of this root and roots below it, the oldest first (a slurmd is older than its slurmstepds).

    With `role` only those in it, of this very root.
    """
    found = []
    for pid in all_pids():
        mark = mark_of(pid)
        if mark is not None and (
            mark.startswith((f"{root}:", f"{root}/")) if role is None else mark == f"{root}:{role}"
        ):
            found.append(pid)
    return sorted(found, key=lambda pid: (start_time(pid), pid))


def daemon(root: Path, role: str) -> int | None:
    """The running daemon of that role, or None."""
    found = marked(root, role)
    return found[0] if found else None


def start(
    root: Path,
    role: str,
    argv: Sequence[object],
    log: Path,
    *,
    user: str | None = None,
    env: dict[str, str] | None = None,
) -> int:
    """Start a daemon in its own session, its output appended to `log`; returns its pid once its mark can be seen."""
    log.parent.mkdir(parents=True, exist_ok=True)
    environment = {"PATH": PATH, "LC_ALL": "C.UTF-8", MARK: f"{root}:{role}", **(env or {})}
    if "TZ" in os.environ:
        environment["TZ"] = os.environ["TZ"]
    with log.open("ab") as output:
        child = subprocess.Popen(
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env=environment,
            cwd=log.parent if user is None else "/",
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
    # While the kernel loads the program its environment reads empty: whoever looked now would think it dead.
    while child.poll() is None and mark_of(child.pid) is None:
        time.sleep(0.001)
    return child.pid


def wait_for_end(pids: Iterable[int], seconds: float) -> list[int]:
    """Wait until all have ended (a zombie has); returns those that have not after `seconds`."""
    deadline = time.monotonic() + seconds
    waiting: dict[int, int] = {}
    for pid in pids:
        try:
            waiting[os.pidfd_open(pid)] = pid
        except OSError:
            continue
    poller = select.poll()
    for descriptor in waiting:
        poller.register(descriptor, select.POLLIN)
    try:
        while waiting and (left := deadline - time.monotonic()) > 0:
            for descriptor, _ in poller.poll(left * 1000):
                poller.unregister(descriptor)
                os.close(descriptor)
                del waiting[descriptor]
        return list(waiting.values())
    finally:
        for descriptor in waiting:
            os.close(descriptor)


def send(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def stop(pids: Sequence[int], seconds: float) -> None:
    """End them: TERM, then KILL for what is still there after `seconds`."""
    send(pids, signal.SIGTERM)
    stubborn = wait_for_end(pids, seconds)
    send(stubborn, signal.SIGKILL)
    wait_for_end(stubborn, 5)


def wait_until(what: Text, holds: Callable[[], bool], seconds: float, log: Path | None = None) -> None:
    """Ask `holds` every 50 ms; a `Trouble` with the end of `log` if it does not become true in time."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            last = last_lines(log) if log else ""
            raise Trouble(
                Text(f"{what.en} was not there after {seconds:.0f} s.", f"等了 {seconds:.0f} 秒，{what.zh}仍未就绪。"),
                Text(f"Its log {log} ends with:\n{last}", f"其日志 {log} 的末尾：\n{last}") if log else None,
            )
        time.sleep(0.05)


def last_lines(log: Path, count: int = 12) -> str:
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-count:])
    except OSError:
        return ""
