"""``runner.pyz --node ... -- ARGUMENTS``: what srun starts on each node of a distributed run, and alone for a script.

It starts ``python ARGUMENTS --node-rank=N runner.pyz rank`` (ARGUMENTS begin with ``-m torch.distributed.run``),
passes signals to the ranks, which torchrun itself would not, and ends when they have. On the first node it then makes
the run's result of what the ranks left (`ranks`): one of them may have been killed with all that it knew.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from . import stopping, usage
from .attempt import AttemptFolder, now, read_json
from .node_child import die_with_parent
from .node_ranks import NodeRanks, children
from .node_result import conclude, killed, not_launched
from .progress import ProgressWriter
from .ranks import read_reports, write_report
from .result import EXIT_CODES
from .signals import INTERRUPT_WAIT, StopRequest

_POLL = 0.1
_MORE = 5.0
"""Seconds that ranks get beside their own grace to leave, and torchrun to notice."""
_LINGERS = 1.5
"""Seconds that torchrun gets without a rank, once it is asked to stop: it would wait for the other nodes', and srun
ends this one some ten seconds after another has failed."""
_OTHERS = 6.0
"""Seconds in which the last words of ranks on other nodes come through the file system."""


class Node:
    """One node's part of an attempt. `torch` are the arguments of torch.distributed.run, None for a script alone."""

    def __init__(self, folder: AttemptFolder, stop: StopRequest, torch: Sequence[str] | None) -> None:
        self.folder, self.stop, self.torch = folder, stop, torch
        self.request: dict[str, Any] = read_json(folder.request) or {}
        self.number = int(os.environ.get("SLURM_NODEID") or 0) if torch is not None else 0
        self.world = 1
        self._stopped_at = float("inf")  # seconds since the epoch
        if torch is not None:
            self.world = int(self.request.get("nodes") or 1) * int(self.request.get("processes") or 1)
        stop.expect(self.request)

    def run(self) -> int:
        """The exit code."""
        started_at = now()
        self.folder.make()
        if self.number == 0 and (self.torch is None or self.request.get("kind") == "script"):
            progress = ProgressWriter(self.folder, 0)
            progress.change(phase="running")
            with suppress(OSError):
                progress.write()
        pipe = None if self.torch is None else subprocess.PIPE
        child = subprocess.Popen(self._command(), env=self._environment(), stderr=pipe, preexec_fn=die_with_parent)
        ranks = None if self.torch is None else NodeRanks(child)
        sampler = usage.start(self.folder, None if self.torch is None else self._own_ranks()[0], self.number)
        code = self._wait(child, ranks)
        sampler.stop()
        if ranks is not None and code != 0:
            ranks.ended()
            self._tell_of_silent(ranks, code)
        if self.number != 0:
            return 0 if code == 0 or self._stopped_well() else EXIT_CODES["failed"]
        self._await_reports(code)
        return conclude(self.folder, self.request, self.world, code, self.stop, started_at)

    def _command(self) -> list[str]:
        rank = [str(self.folder.run / "runner.pyz"), "rank"]  # torchrun would take options for its own
        if self.torch is None:
            return [sys.executable, "-u", *rank]
        where = [f"--node-rank={self.number}"]
        address = os.environ.get("SLURMD_NODENAME")
        if address and _resolves(address):
            where.append(f"--local-addr={address}")
        return [sys.executable, *self.torch, *where, *rank]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.folder.variables(str(self.request.get("id") or ""))}

    def _wait(self, child: subprocess.Popen[bytes], ranks: NodeRanks | None) -> int:
        """Its exit code. A signal is passed on once; who does not leave in time is made to."""
        passed = hurried = False
        until = killing = float("inf")
        while child.poll() is None:
            time.sleep(_POLL)
            number, moment = self.stop.signal, time.monotonic()
            living = [child.pid] if ranks is None else ranks.look()
            if number is not None and not passed:
                passed, hurried, until = True, self.stop.hurried, moment + self.stop.grace + INTERRUPT_WAIT + _MORE
                self._stopped_at = time.time()
                stopping.ask(self.folder, number)
                self._pass_on(child, living, number)
            if passed and self.stop.hurried and not hurried:
                hurried, until = True, min(until, moment + self.stop.grace + INTERRUPT_WAIT + _MORE)
                self._pass_on(child, living, signal.SIGTERM)
            if passed and ranks is not None and ranks.began and not living and self._nobody_is_busy():
                killing = min(killing, moment + _LINGERS)
            if moment > until:
                until, killing = float("inf"), moment + _MORE
                child.terminate()
            if moment > killing:
                for pid in children(child.pid):
                    _send(pid, signal.SIGKILL)
                child.kill()
        return child.returncode

    def _pass_on(self, child: subprocess.Popen[bytes], ranks: list[int], number: int) -> None:
        print(f"siflab: node {self.number}: signal {number} to {len(ranks)} processes", flush=True)
        for pid in ranks:
            _send(pid, number)
        if not ranks:
            child.terminate()

    def _tell_of_silent(self, ranks: NodeRanks, code: int) -> None:
        """Report what became of the ranks of this node that could not: they were killed. Not of those that went after
        the node was asked to stop; srun asks that too, of the other nodes, when one has failed."""
        own = self._own_ranks()
        reports = read_reports(self.folder)
        if not ranks.began and self.stop.signal is None:
            write_report(self.folder, own[0], not_launched(ranks.last_words(), code), time.time())
            return
        for rank, (moment, ended) in ranks.ends_of(rank for rank in own if rank not in reports).items():
            if moment < self._stopped_at:
                by = -ended if ended is not None and ended < 0 else None
                write_report(self.folder, rank, killed(rank, by, code if ended is None else ended), moment)

    def _own_ranks(self) -> range:
        each = self.world // int(self.request.get("nodes") or 1)
        return range(self.number * each, (self.number + 1) * each)

    def _nobody_is_busy(self) -> bool:
        """After a warning the ranks of other nodes may still be saving, and meet at the first node's torchrun."""
        return self.stop.hurried or len(read_reports(self.folder)) >= self.world

    def _stopped_well(self) -> bool:
        """The ranks of this node left as they were asked to, whatever their torchrun said: srun is to end no other."""
        reports = read_reports(self.folder)
        own = [reports[rank].status if rank in reports else "" for rank in self._own_ranks()]
        return self.stop.signal is not None and set(own) <= {"stopped", "completed"}

    def _await_reports(self, code: int) -> None:
        """Where some rank failed its word is worth a moment; the others' are not waited for."""
        alone = self.torch is None or int(self.request.get("nodes") or 1) == 1
        until = time.monotonic() + (0.0 if alone else _OTHERS)
        while time.monotonic() < until:
            reports = read_reports(self.folder)
            first = [one for one in reports.values() if one.error is not None and not one.is_secondary]
            if len(reports) >= self.world or first:
                return
            if code != 0 and self.stop.signal is None and any(one.error is not None for one in reports.values()):
                until = min(until, time.monotonic() + 2.0)
            time.sleep(_POLL)


def _send(pid: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _resolves(name: str) -> bool:
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return False
    return True
