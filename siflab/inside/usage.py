"""What an attempt uses of its node: a thread of the runner looks every five seconds, and never touches the kernel.

``attempts/K/usage.jsonl`` (``usage-N.jsonl`` of a distributed run's node N, so that each file has one writer) has one
JSON object a line; `t` is the time in seconds since the epoch, `d` the seconds that a sample stands for:

========= =============================================================================================================
head      began, version, node, number (of the node), cpus, memory (bytes), gpus (asked for), interval, nvml
of a GPU  gpu (as the notebook counts them), uuid, name, total (bytes), mig
file      t, file (name), size: a large file that was seen open for reading, once
node      t, d, cpu (CPUs in use), top (by the busiest process), busy (processes with over half a CPU), blocked
          (processes waiting for a disk), processes, memory, peak (bytes so far), read, written, disk_read, disk_written
          (bytes so far), open (bytes of large files that are open), cell (index among all cells), number (among code
          cells, from 1)
rank      t, d, rank, cpu, memory, read, written
GPU       t, d, gpu, rank, util (%), memory, own (bytes: all, and by the job's processes), temp (degrees Celsius),
          power (W), heat, capped (share of the time in which its clocks were held down by heat, by power), cell
========= =============================================================================================================

The longer a run, the longer the time that a line stands for, so that a file stays under 20 MB. ``usage.json`` (or
``usage-N.json``), written at the end, is the summary of one node (`usage_summary`); all figures of memory and data are
in bytes, of CPU in CPUs."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from .attempt import AttemptFolder, read_json
from .saving import replace_json
from .usage_look import Look, Window
from .usage_summary import Summary
from .usage_writer import UsageFile

INTERVAL = 5.0
_JOIN = 2.0
"""Seconds that the end of a run waits for the last look."""
_FAILURES = 20  # in a row, after which it is given up


class Sampler:
    """Made by `start`."""

    def __init__(
        self, folder: AttemptFolder, rank: int | None, node: int, cell: Callable[[], Any] | None, interval: float
    ) -> None:
        self._folder, self._node, self._interval = folder, node, interval
        self._cell = cell or (lambda: read_json(folder.progress) or {})
        self._look = Look(with_ranks=rank is not None)
        self._file = UsageFile(usage_file(folder, node))
        self._summary = Summary()
        self._window = Window()
        self._began = self._at = time.monotonic()
        self._failures = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="siflab-usage", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Look a last time and write the summary; takes 2 s at most where a driver does not answer. Never raises."""
        with suppress(Exception):
            self._ended.set()
            self._thread.join(_JOIN)
            replace_json(summary_file(self._folder, self._node), self._summary.as_dict())
            self._file.close()

    def _run(self) -> None:
        with suppress(Exception):
            self._look.begin()
            ended = False
            while not ended and self._failures < _FAILURES:
                ended = self._ended.wait(self._interval)
                try:
                    self._sample(ended)
                    self._failures = 0
                except Exception:
                    self._failures += 1

    def _sample(self, last: bool) -> None:
        moment = time.monotonic()
        seconds, self._at = moment - self._at, moment
        if last and seconds < min(1.0, self._interval / 2) and not self._file.is_new:
            self._flush()  # so short a time tells nothing
            return
        if self._file.is_new:
            self._say(self._head(), *self._look.gpu_facts())
        cell = self._where()
        if cell != self._window.cell:
            self._flush()
        self._window.cell = cell
        for key, values in self._look.read(seconds).items():
            self._window.add(key, values, seconds)
        if last or self._window.seconds >= self._file.interval(moment - self._began) - self._interval / 2:
            self._flush()

    def _flush(self) -> None:
        t = round(time.time(), 1)
        lines = self._window.lines(t)
        self._window = Window()
        self._say(*lines, *({"t": t, "file": file.name, "size": file.size} for file in self._look.new_files()))

    def _say(self, *lines: dict[str, Any]) -> None:
        for line in lines:
            self._summary.add(line)
        self._file.write(lines)

    def _where(self) -> tuple[Any, Any]:
        progress = self._cell()
        if isinstance(progress, dict):
            return progress.get("current_index"), progress.get("current_cell")
        return getattr(progress, "current_index", None), getattr(progress, "current_cell", None)

    def _head(self) -> dict[str, Any]:
        return {
            "began": round(time.time() - (time.monotonic() - self._began), 1),
            "version": 1,
            "node": (os.environ.get("SLURMD_NODENAME") or socket.gethostname())[:64],
            "number": self._node,
            **self._look.asked(),
            "interval": self._interval,
            "nvml": self._look.has_nvml,
        }


class _Nothing:
    """Where there is not even a file to write to."""

    def stop(self) -> None:
        pass


def start(
    folder: AttemptFolder,
    rank: int | None = None,
    node: int | None = None,
    cell: Callable[[], Any] | None = None,
    interval: float = INTERVAL,
) -> Sampler | _Nothing:
    """Begin to look at this node's part of an attempt: this process and those below it. `rank`: the first of the ranks
    that run here, None where there are none; `node`: the node's number in the job; `cell` gives the `Progress`, which
    is read from progress.json if left out. Never raises: a run does not fail for its figures. Its thread loads the
    GPUs' library at the first look, which must not meet the fork of a child that still has to look functions up."""
    try:
        return Sampler(folder, rank, node or 0, cell, interval)
    except Exception:
        return _Nothing()


def usage_file(folder: AttemptFolder, node: int = 0) -> Path:
    return folder.folder / ("usage.jsonl" if node == 0 else f"usage-{node}.jsonl")


def summary_file(folder: AttemptFolder, node: int = 0) -> Path:
    return usage_file(folder, node).with_suffix(".json")


__all__ = ["INTERVAL", "Sampler", "start", "summary_file", "usage_file"]
