"""The notebook's executor: nbclient, with every message journaled first and applied by our own `Outputs`.

nbclient sends the cells, waits for replies and watches that the kernel lives. What it does with outputs is replaced:
it would lose those of background threads (their parent is an earlier cell), give up reading four seconds after a
cell's reply, and validate each output by schema. Its own handling of signals is left out too: `run` has that."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

import zmq
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete
from nbclient.util import ensure_async

from .journal import Journal, record_of
from .logs import KernelLog, RunLog
from .notebook import SKIP_TAG, code_numbers, tags
from .outputs import Outputs
from .progress import ProgressWriter
from .recording import Recorder
from .signals import StopRequest
from .spill import Spills

STARTUP_SECONDS = 300
"""A first import from a busy shared file system may take minutes."""
NEVER = 10**7
UNREAD_MESSAGES = 20
"""That ZeroMQ keeps on this side: each may have megabytes."""
_FREE = frozenset({"stream", "display_data", "update_display_data", "error", "clear_output"})


class NotebookExit(Exception):
    """A cell called exit() or quit(): the kernel is gone, by its own wish."""


class RunClient(NotebookClient):
    """Executes the cells of one notebook; `current` is the cell that runs (index among all cells), or None."""

    def __init__(
        self,
        notebook: Any,
        manager: Any,
        journal: Journal,
        outputs: Outputs,
        run_log: RunLog,
        kernel_log: KernelLog,
        spills: Spills,
        progress: ProgressWriter,
        stop: StopRequest,
        cell_timeout: int | None = None,
    ) -> None:
        super().__init__(
            notebook,
            km=manager,
            timeout=cell_timeout,
            record_timing=False,
            coalesce_streams=False,
            iopub_timeout=NEVER,
            startup_timeout=STARTUP_SECONDS,
        )
        self.journal = journal
        self.outputs_of_cells = outputs
        self.run_log = run_log
        self.kernel_log = kernel_log
        self.progress = progress
        self.stop = stop
        self.numbers = code_numbers(notebook)
        self._record = Recorder(journal, outputs, run_log, spills, self.numbers).take
        self.current: int | None = None
        self.on_cell_execute = self._started
        self.on_cell_executed = self._executed
        self._parents: dict[str, int] = {}  # message id of a request -> its cell
        self._parent: str | None = None
        self._last: int | None = None  # the cell that ran last
        self._own: str | None = None  # message id of a request that is of no cell

    async def start(self, workdir: Path, environment: dict[str, str], arguments: list[str], **popen: Any) -> None:
        """Start the kernel and wait until it answers. Raises RuntimeError when it does not."""
        self.extra_arguments = arguments
        await self.async_start_new_kernel(cwd=str(workdir), env=environment, **popen)
        assert self.km is not None
        self.km.context.setsockopt(zmq.RCVHWM, UNREAD_MESSAGES)  # for sockets to come: later it may count what was read
        channels = await self.async_start_new_kernel_client()
        reply = await self.async_wait_for_reply(await ensure_async(channels.kernel_info()))
        language = (reply or {}).get("content", {}).get("language_info") or {}
        self.outputs_of_cells.apply(self.journal.mark("kernel", language_info=language))
        self.kernel_log.skip()

    async def run_cells(self) -> None:
        """All cells in order, until one fails or the run is asked to stop between two cells. Raises nbclient's
        CellExecutionError and DeadKernelError, and NotebookExit."""
        for index, number in self.numbers.items():
            cell = self.nb["cells"][index]
            if self.stop.signal is not None:
                return
            if SKIP_TAG in tags(cell):
                self.outputs_of_cells.apply(self.journal.mark("skip", index))
            elif not cell["source"].strip():
                self.outputs_of_cells.apply(self.journal.mark("done", index, status="done"))
            else:
                self.current = index
                self.progress.change(current_cell=number, current_index=index)
                await self.async_execute_cell(cell, index)
                self.current = None
            self.progress.change(cells_done=self.progress.progress.cells_done + 1)

    async def run_code(self, code: str) -> None:
        """Run code that is of no cell in the kernel, with what it prints added to the cell that ran last."""
        assert self.kc is not None and self.km is not None
        was, self.current = self.current, self._last if self.current is None else self.current
        try:
            self._own = await ensure_async(self.kc.execute(code, store_history=False, allow_stdin=False))
            while await ensure_async(self.km.is_alive()):
                with suppress(Empty):
                    self._take(await ensure_async(self.kc.iopub_channel.get_msg(timeout=1)))
        except CellExecutionComplete:
            self.take_kernel_log()
        finally:
            self.current = was

    async def drain(self, quiet: float = 0.05) -> None:
        """Read what the kernel still sends, or sent before it died, until nothing comes for `quiet` seconds."""
        while self.kc is not None:
            try:
                self._take(await ensure_async(self.kc.iopub_channel.get_msg(timeout=quiet)))
            except CellExecutionComplete:
                continue
            except (Empty, RuntimeError):
                break
        self.take_kernel_log()

    def take_kernel_log(self) -> None:
        """What came through the kernel's own descriptors, into the cell that runs."""
        while self.current is not None:
            text = self.kernel_log.read()
            if not text:
                break
            self.add_output("stream", {"name": "stdout", "text": text})

    def add_output(self, kind: str, content: dict[str, Any], logged: bool = True) -> None:
        """An output of the running cell that no message brought."""
        if self.current is not None:
            message = {"header": {"msg_type": kind}, "parent_header": {"msg_id": self._parent}, "content": content}
            self._record(record_of(message, self.current), logged)

    def exit_code(self) -> int | None:
        """Of the kernel's process, negative for a signal; None while it lives, or if that cannot be known."""
        process = getattr(getattr(self.km, "provisioner", None), "process", None)
        return None if process is None else process.poll()

    def _started(self, cell: Any, cell_index: int) -> None:
        self._last = cell_index
        self.run_log.cell(self.numbers[cell_index])
        self.outputs_of_cells.apply(self.journal.mark("start", cell_index))

    def _executed(self, cell: Any, cell_index: int, execute_reply: dict[str, Any] | None) -> None:
        content = (execute_reply or {}).get("content", {})
        failed = content.get("status") != "ok" and "raises-exception" not in tags(cell)
        status = ("failed" if self.stop.signal is None else "stopped") if failed else "done"
        self.outputs_of_cells.apply(self.journal.mark("done", cell_index, status=status))
        if any(payload.get("source") == "ask_exit" for payload in content.get("payload") or []):
            raise NotebookExit

    async def _async_poll_output_msg(self, parent_msg_id: str, cell: Any, cell_index: int) -> None:
        """nbclient's reader of a cell's messages, which passes over those that an earlier cell caused."""
        self._parents[parent_msg_id] = cell_index
        self._parent = parent_msg_id
        assert self.kc is not None
        while True:
            message = await ensure_async(self.kc.iopub_channel.get_msg(timeout=None))
            try:
                self._take(message)
            except CellExecutionComplete:
                return

    def _take(self, message: dict[str, Any]) -> None:
        """Raises CellExecutionComplete when it says that the running cell is done."""
        parent, kind = message["parent_header"].get("msg_id"), message["header"]["msg_type"]
        index = self._parents.get(parent)
        if self._own is not None and parent == self._own and _says_idle(message):
            raise CellExecutionComplete
        if index is None and (kind in _FREE or kind.startswith("comm_")):
            index = self.current
        if index is None:
            return
        idle = _says_idle(message)
        if idle and parent == self._parent:
            self.take_kernel_log()
        self._record(record_of(message, index))
        if idle and parent == self._parent and self.current is not None:
            raise CellExecutionComplete


def _says_idle(message: dict[str, Any]) -> bool:
    return bool(message["header"]["msg_type"] == "status" and message["content"].get("execution_state") == "idle")


def send_to_kernel(client: RunClient, comm_id: str, data: dict[str, Any], parent: str | None) -> None:
    """A widget's state, changed on our side, to its twin in the kernel."""
    assert client.kc is not None
    message = client.kc.session.msg("comm_msg", content={"comm_id": comm_id, "data": data}, parent=None)
    message["parent_header"] = {"msg_id": parent}
    client.kc.shell_channel.send(message)
