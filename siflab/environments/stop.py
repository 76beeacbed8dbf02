"""The wish that the work ends: from a signal, or from another thread."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from typing import Any

from siflab.errors import Conflict
from siflab.text import Text


class Stopped(Conflict):
    """The work was ended because the person wished so."""


class Stop:
    """`request` may be called by a signal handler; it raises nothing, it ends the process that is watched."""

    def __init__(self) -> None:
        self.requested = False
        self._process: subprocess.Popen[Any] | None = None

    def request(self, *_: object) -> None:
        self.requested = True
        self._end()

    def watch(self, process: subprocess.Popen[Any] | None) -> None:
        """`process` leads a process group of its own."""
        self._process = process
        if self.requested:
            self._end()

    def check(self) -> None:
        """Raises Stopped."""
        if self.requested:
            raise Stopped(Text("stopped; nothing half made was left", "已停止；没有留下未完成的内容"))

    def _end(self) -> None:
        process = self._process
        if process is not None and process.returncode is None:
            with suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)


def run(argv: list[str], stop: Stop, **options: Any) -> tuple[int, str]:
    """(exit code, all that it printed). Raises Stopped."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        **options,
    )
    stop.watch(process)
    try:
        output = process.communicate()[0]
    finally:
        stop.watch(None)
    stop.check()
    return process.returncode, output
