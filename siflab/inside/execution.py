"""The kernel's life within an attempt: start, cells, being stopped, end."""

from __future__ import annotations

import asyncio
import ctypes
import functools
import importlib.util
import os
import signal
import time
from contextlib import suppress
from typing import Any

from jupyter_client.manager import AsyncKernelManager
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbclient.util import ensure_async

from . import stopping
from .client import NotebookExit, RunClient, send_to_kernel
from .journal import unpack
from .kernels import NoSuchKernel, SocketFolder, choose_kernel
from .outcome import COMPLETED, Outcome, dead_kernel, exited, failed, internal, stopped, timed_out, words
from .result import Words
from .run import Attempt
from .signals import INTERRUPT_WAIT

TICK = 0.1
SYNC = 2.0
SOCKETS_CONNECTED = 1.0
"""Seconds after the kernel's first answer in which every socket has found its path (ZeroMQ tries each 0.1 s)."""
SHUTDOWN_WAIT = 30.0
"""Seconds for what the notebook registered with atexit, such as an upload of metrics."""
SHUTDOWN_WAIT_WHEN_STOPPED = 2.0
PR_SET_PDEATHSIG = 1
OOM_SCORE_ADJ = "500"
"""When memory runs out, the kernel is to die, not the runner that can tell (proc(5), oom_score_adj)."""


class Execution:
    """Executes the cells of an attempt with a kernel of the image."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt = attempt
        self.stop = attempt.stop
        self.sockets = SocketFolder()
        self.client: RunClient | None = None
        self.ready_at: float | None = None

    async def run(self) -> tuple[Outcome, list[Words]]:
        """The outcome, after the notebook's last save and the kernel's end, and warnings."""
        ticker = asyncio.create_task(self._tick())
        try:
            outcome = await self._outcome()
            await self._drain(outcome)
            settled = self.attempt.settle(outcome)
        finally:
            ticker.cancel()
            await self._shut_down()
            self.sockets.remove()
        return settled

    async def _outcome(self) -> Outcome:
        cells = asyncio.create_task(self._cells())
        asked = asyncio.create_task(self.stop.wait())
        try:
            await asyncio.wait({cells, asked}, return_when=asyncio.FIRST_COMPLETED)
            if not cells.done():
                await self._stop(cells)
            return self._judge(cells)
        finally:
            asked.cancel()

    async def _cells(self) -> None:
        attempt, request = self.attempt, self.attempt.request
        manager = AsyncKernelManager()
        specs = manager.kernel_spec_manager.get_all_specs()
        manager.kernel_name = choose_kernel(request.get("kernel"), attempt.notebook, specs)
        self.sockets.configure(manager)
        manager.session.unpack = unpack
        self.client = client = RunClient(
            attempt.notebook, manager, attempt.journal, attempt.outputs, attempt.run_log, attempt.kernel_log,
            attempt.spills, attempt.progress, self.stop, request.get("cell_timeout"),
        )  # fmt: skip
        attempt.outputs.widgets.send = functools.partial(send_to_kernel, client)
        descriptor = attempt.kernel_log.descriptor
        arguments = ipykernel_arguments() if manager.ipykernel else []
        await client.start(
            attempt.workdir,
            environment(attempt),
            arguments,
            stdout=descriptor,
            stderr=descriptor,
            preexec_fn=_die_with_runner(),
        )
        self.ready_at = time.monotonic()
        attempt.progress.change(phase="running")
        await client.run_cells()

    async def _stop(self, cells: asyncio.Task[None]) -> None:
        """The run was asked to end while cells run: let the notebook end its cell if it looks for that, else
        interrupt; then call what it gave to `checkpoint.on_stop`."""
        folder, client = self.attempt.folder, self.client
        with suppress(OSError):
            folder.stop.touch()
        self.attempt.saver.save()
        hooked = stopping.HOOK in stopping.answers(folder)
        if client is not None and client.current is not None:
            ended = folder.heeds_stop.exists() and await self.stop.wait_for(cells, 0.4 if hooked else 0.9)
            if ended and cells.exception() is None and stopping.SEEN in stopping.answers(folder):
                stopping.add_answer(folder, stopping.SAVED)  # in its own way, perhaps
            if not cells.done():
                await self._interrupt(client)
                await asyncio.wait({cells}, timeout=max(INTERRUPT_WAIT, self.stop.grace * 0.15))
        idle = cells.done()
        cells.cancel()
        await asyncio.wait({cells})
        if hooked and client is not None and (idle or client.current is None):
            hooks = asyncio.create_task(client.run_code(stopping.CALL_HOOKS))
            if not await self.stop.wait_for(hooks, 0.4):
                await self._interrupt(client)
                hooks.cancel()
            with suppress(Exception, asyncio.CancelledError):
                await hooks

    async def _interrupt(self, client: RunClient) -> None:
        if client.km is not None:
            await ensure_async(client.km.interrupt_kernel())

    def _judge(self, cells: asyncio.Task[None]) -> Outcome:
        """What the end of the cells means."""
        client, attempt = self.client, self.attempt
        index = client.current if client else None
        number = None if index is None else attempt.numbers[index]
        error = None if cells.cancelled() else cells.exception()
        said = stopping.answers(attempt.folder)
        early = cells.cancelled() or error is not None or self._cells_left() or stopping.SEEN in said
        if self.stop.signal is not None and early:
            return stopped(number, self.stop.signal, self.stop.warned, stopping.SAVED in said)
        if error is None:
            return COMPLETED
        if isinstance(error, NoSuchKernel):
            return internal("NoSuchKernel", str(error), words(f"Nothing was run: {error}.", f"没有运行：{error.zh}。"))
        if client is None or self.ready_at is None:
            return self._kernel_did_not_start(error)
        if index is not None and number is not None:
            if isinstance(error, CellExecutionError):
                attempt.outputs.settle()
                return failed(attempt.notebook["cells"][index], index, number, error.ename, error.evalue)
            if isinstance(error, NotebookExit):
                return exited(index, number) if number < len(attempt.numbers) else COMPLETED
            if isinstance(error, CellTimeoutError):
                return timed_out(index, number, attempt.request["cell_timeout"])
        if isinstance(error, DeadKernelError):
            return dead_kernel(index, number, client.exit_code())
        raise error

    def _cells_left(self) -> bool:
        progress = self.attempt.progress.progress
        return progress.cells_done < progress.cells_total

    def _kernel_did_not_start(self, error: BaseException) -> Outcome:
        with suppress(OSError):
            os.lseek(self.attempt.kernel_log.descriptor, 0, os.SEEK_SET)
        said = self.attempt.kernel_log.read()[-4000:]
        return internal("KernelDidNotStart", str(error), words(
            f"The kernel did not start: {error}. What it said is in logs/kernel.log.",
            f"内核没有启动：{error}。其输出见 logs/kernel.log。"), said)  # fmt: skip

    async def _drain(self, outcome: Outcome) -> None:
        """Read what is still under way; say in the cell what became of it, for whoever opens the notebook."""
        if self.client is None or self.ready_at is None:
            return
        await self.client.drain()
        if outcome.status in ("dead_kernel", "timeout") and outcome.error is not None and outcome.message is not None:
            lines = [outcome.message["en"], outcome.message["zh"]]
            error = {"ename": outcome.error.ename, "evalue": outcome.error.evalue, "traceback": lines}
            self.client.add_output("error", error, logged=False)  # the runner's last words go to the same file

    async def _tick(self) -> None:
        synced = time.monotonic()
        while True:
            await asyncio.sleep(TICK)
            if self.client is not None and self.ready_at is not None:
                self.client.take_kernel_log()
                if time.monotonic() - self.ready_at > SOCKETS_CONNECTED:
                    self.sockets.remove()
            self.attempt.saver.save_if_due()
            self.attempt.journal.shorten_if_due(self.attempt.outputs.state, self.attempt.outputs.weight)
            self.attempt.run_log.tick()
            self.attempt.write_progress()
            if time.monotonic() - synced > SYNC:
                await asyncio.to_thread(self.attempt.sync)
                synced = time.monotonic()

    async def _shut_down(self) -> None:
        if self.client is None or self.client.km is None or not self.client.km.has_kernel:
            return
        manager = self.client.km
        manager.shutdown_wait_time = SHUTDOWN_WAIT if self.stop.signal is None else SHUTDOWN_WAIT_WHEN_STOPPED
        with suppress(Exception):
            await ensure_async(manager.shutdown_kernel(now=self.ready_at is None))
        if self.client.kc is not None:
            self.client.kc.stop_channels()


def environment(attempt: Attempt) -> dict[str, str]:
    """The kernel's: the job's own, and what is the attempt's."""
    return {**os.environ, **attempt.folder.variables(str(attempt.request.get("id") or ""))}


def ipykernel_arguments() -> list[str]:
    """For an IPython kernel: no capture of descriptors (see `logs.KernelLog`), and `kernel_start` before the first
    cell."""
    name = f"{__package__}.kernel_start"  # found, not imported: it is not for this process
    spec = importlib.util.find_spec(name)
    loader: Any = spec.loader if spec else None
    source = loader.get_source(name)
    archive = getattr(loader, "archive", None)
    code = f"exec(compile({source!r}, 'siflab', 'exec'), {{'ARCHIVE': {archive!r}}})"
    history = "--HistoryManager.enabled=False"  # else a database in the home, often on NFS, that all jobs lock
    return ["--IPKernelApp.capture_fd_output=False", history, f"--IPKernelApp.code_to_run={code}"]


def _die_with_runner() -> functools.partial[None]:
    """For the child before it becomes the kernel: when the runner is killed, the kernel must not go on computing and
    printing. What it calls is looked up here, since little may be done between fork and exec."""
    libc = ctypes.CDLL(None, use_errno=True)
    return functools.partial(_in_child, libc.prctl, os.getpid())


def _in_child(prctl: ctypes._CFuncPtr, runner: int) -> None:  # type: ignore[name-defined]
    prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != runner:
        os._exit(1)
    try:
        descriptor = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
        os.write(descriptor, OOM_SCORE_ADJ.encode())
        os.close(descriptor)
    except OSError:
        pass
