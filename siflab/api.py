"""Runs from Python: ``import siflab; run = siflab.promote("train.ipynb", gpus=4); run.wait()``.

It calls what the command line and the REST API call (`siflab.runs`), as the user of this process, on a login node or in
a session. Everything raises `siflab.errors.SiflabError`, whose text says what to do.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from siflab import runs as engine
from siflab.errors import SiflabError
from siflab.runs.views import site_view

_PAUSE, _LONGEST_PAUSE = 1.0, 10.0
"""Seconds between two looks at a run that is waited for: they grow while nothing changes. A look costs one squeue."""


class RunFailed(SiflabError):
    """A run that was waited for ended in another state than completed; `run` is it."""

    code = "run-failed"

    def __init__(self, run: "Run") -> None:
        super().__init__(run._seen.reason or run._seen.state_text)
        self.run = run


class Run:
    """A run as it was when it was looked at last; `refresh` looks again. Paths are as this process sees them."""

    def __init__(self, viewer: engine.Viewer, seen: engine.Run) -> None:
        self._viewer, self._seen = viewer, seen

    id = property(lambda self: self._seen.id, doc="The run's id, eight letters and digits.")
    name = property(lambda self: self._seen.name)
    state = property(
        lambda self: self._seen.state,
        doc="not_submitted, submitting, pending, running, completing, completed, failed, cancelled, timeout, "
        "out_of_memory, node_fail or unknown.",
    )
    ended = property(lambda self: self._seen.ended, doc="Nothing more will happen to it.")
    job_id = property(lambda self: self._seen.job_id)
    exit_code = property(lambda self: self._seen.exit_code)
    attempts = property(lambda self: self._seen.attempts)
    progress = property(lambda self: self._seen.progress)
    error = property(lambda self: self._seen.error, doc="{ename, evalue, cell, cell_number, line} of what failed.")

    @property
    def reason(self) -> str:
        """Why it waits, or why it ended as it did, with what to do; empty if there is nothing to say."""
        return self._seen.reason.en if self._seen.reason else ""

    @property
    def folder(self) -> Path:
        return Path(self._seen.folder)

    @property
    def output(self) -> Path | None:
        """The executed notebook; None before the run has begun."""
        return Path(self._seen.output) if self._seen.output else None

    def refresh(self) -> "Run":
        self._seen = engine.get_run(self._viewer, self.id)
        return self

    def wait(
        self,
        timeout: float | None = None,
        check: bool = True,
        on_change: "Callable[[Run], None] | None" = None,
    ) -> "Run":
        """Until it has ended. `timeout` in seconds (TimeoutError), `on_change` is called when state or progress change.
        With `check` RunFailed is raised unless it completed. Interrupting it does nothing to the run."""
        until = None if timeout is None else time.monotonic() + timeout
        pause, before = _PAUSE, None
        while not self.refresh().ended:
            now = (self._seen.state, str(self._seen.reason), str(self._seen.progress), str(self._seen.points))
            pause = _PAUSE if now != before else min(1.5 * pause, _LONGEST_PAUSE)
            if now != before and on_change is not None:
                on_change(self)
            before = now
            if until is not None and time.monotonic() + pause > until:
                raise TimeoutError(f"run {self.id} is still {self.state} after {timeout} s; it goes on")
            time.sleep(pause)
        if on_change is not None:
            on_change(self)
        if check and self.state != "completed":
            raise RunFailed(self)
        return self

    def cancel(self) -> "Run":
        self._seen = engine.cancel(self._viewer, self.id)
        return self

    def log(self, attempt: int | None = None) -> str:
        """All that the run has printed, of the newest attempt if None."""
        return "".join(self._pieces(attempt))

    def log_end(self, limit: int = 16384) -> str:
        """The last `limit` bytes at most of what the newest attempt has printed."""
        return engine.read_log(self._viewer, self.id, None, -limit).text

    def points(self) -> list[dict[str, Any]]:
        """Of a sweep: a dict for each point, of its number, state, seconds, parameters and recorded values; for
        ``pandas.DataFrame(run.points())``."""
        table = engine.list_points(self._viewer, self.id)
        return [
            {"number": point.number, "state": point.state, "seconds": point.seconds, **point.parameters, **point.values}
            for point in table.points
        ]

    def rerun_failed(self) -> "Run":
        """Of a sweep: the points that failed, again."""
        self._seen = engine.rerun_failed(self._viewer, self.id)
        return self

    def _pieces(self, attempt: int | None) -> Iterator[str]:
        offset = 0
        while True:
            piece = engine.read_log(self._viewer, self.id, attempt, offset)
            yield piece.text
            if piece.next_offset == piece.offset or piece.next_offset >= piece.size:
                return
            offset = piece.next_offset

    def __repr__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"<siflab run {self.id} {self.name!r}, {self._seen.state_text.en}{reason}>"


def promote(
    path: str | os.PathLike[str],
    profile: str | None = None,
    *,
    sweep: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | None = None,
    at_once: int | None = None,
    **choices: Any,
) -> Run:
    """Submit a notebook or script as a batch job; its run.

    `profile` is the site's default if None. `choices` are fields of `siflab.runs.RunRequest`: gpus, nodes, cpus, memory
    ("16G"), time ("2:00:00"), mode ("distributed"), processes, parameters (a dict), arguments (a list), attempts, name,
    image, kernel. `sweep` is a grid ({"rate": [0.1, 0.01]}) or a list of parameter sets, `at_once` of which run at the
    same time at most. Raises Invalid with what is wrong at which field.
    """
    viewer = engine.Viewer.here()
    if sweep is not None:
        given: dict[str, Any]
        if isinstance(sweep, Mapping):
            given = {"grid": {name: list(values) for name, values in sweep.items()}}
        else:
            given = {"points": list(sweep)}
        choices = {"mode": "sweep", "sweep": {**given, "at_once": at_once}, **choices}
    chosen = profile or site_view(viewer)["default_profile"] or ""
    request = engine.checked_request(path=os.path.abspath(path), profile=chosen, **choices)  # noqa: PTH100
    return Run(viewer, engine.submit(viewer, request))


def list_runs(since: datetime | None = None) -> list[Run]:
    """Your runs, the newest first; with `since` only those that were made after it."""
    viewer = engine.Viewer.here()
    found = engine.list_runs(viewer).runs
    return [Run(viewer, seen) for seen in found if since is None or seen.created_at >= since.astimezone()]


def get_run(run_id: str) -> Run:
    """Raises NotFound."""
    viewer = engine.Viewer.here()
    return Run(viewer, engine.get_run(viewer, run_id))


__all__ = ["Run", "RunFailed", "get_run", "list_runs", "promote"]
