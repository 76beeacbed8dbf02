"""Runs inside an IPython kernel before the first cell, in a namespace of its own: `ARCHIVE` is the path of runner.pyz.

It must not name, import or print anything that the notebook could see.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable
from importlib.machinery import ModuleSpec, PathFinder
from types import FrameType
from typing import Any

ARCHIVE = globals().get("ARCHIVE")
UNREAD_MESSAGES = 20
BEFORE = 10  # messages that a kernel may have sent before this runs
UNSENT_CHARACTERS = 2_000_000
FLUSH_SECONDS = 0.02  # ipykernel's 0.2 would lose that much of what was printed before a SIGKILL


def ignore(number: int, frame: FrameType | None) -> None:
    """Slurm sends a signal to every process of a step. The runner answers it; the kernel has to live on until its last
    output is read. A handler, not SIG_IGN, which a program started by a cell would inherit."""


def as_before() -> None:
    """In a child by fork, such as a DataLoader's worker, whose parent ends it by SIGTERM."""
    for number in SIGNALS:
        if signal.getsignal(number) is ignore:
            signal.signal(number, signal.SIG_DFL)


def wait_for_reader() -> None:
    """Let the kernel wait when the runner cannot read as fast as cells print: ZeroMQ would drop messages
    (zmq_setsockopt: ZMQ_XPUB_NODROP), and a thousand of them, or what ipykernel keeps before, may be gigabytes."""
    import zmq
    from IPython import get_ipython

    shell = get_ipython()
    thread = shell.kernel.iopub_thread
    send, sent = thread._really_send, BEFORE
    thread.schedule(lambda: thread.socket.setsockopt(zmq.XPUB_NODROP, 1))

    def counted(*args: Any, **options: Any) -> None:
        nonlocal sent
        sent += 1
        send(*args, **options)

    def limit() -> None:
        """Not less than twice what was sent: the other side says what it has read only after each half of the limit,
        and what it read before counts as unread until then. With less the kernel would wait for ever."""
        thread._really_send = send
        thread.socket.setsockopt(zmq.SNDHWM, 2 * sent + UNREAD_MESSAGES)

    def keep_few() -> None:  # once the runner is connected: before, it is for sockets that connect to it
        shell.events.unregister("pre_execute", keep_few)
        thread.schedule(limit)

    thread._really_send = counted
    shell.events.register("pre_execute", keep_few)
    for stream in (sys.stdout, sys.stderr):
        stream._schedule_flush = waiting(stream)  # type: ignore[union-attr]
    if hasattr(shell, "_tee"):
        shell._tee = lambda channel: contextlib.nullcontext()  # IPython 9 keeps all that is printed a second time


def waiting(stream: Any) -> Callable[[], None]:
    """`stream._schedule_flush`, which each write calls, and which now waits when much is unsent. Raises AttributeError
    for a stream of another ipykernel, which is left as it is."""
    schedule = stream._schedule_flush

    def unsent() -> int:
        with stream._buffer_lock:
            return sum(buffer.tell() for buffer in stream._buffers.values())

    def schedule_and_wait() -> None:
        schedule()
        if unsent() > UNSENT_CHARACTERS and threading.current_thread() is not stream.pub_thread.thread:
            sent = threading.Event()
            stream.pub_thread.schedule(stream._flush)
            stream.pub_thread.schedule(sent.set)
            sent.wait()

    unsent()
    return schedule_and_wait


class OwnHelpers:
    """Finds ``siflab.inside`` in the archive, whatever Siflab the image has: what a notebook uses of it must fit the
    runner. The rest of an image's own Siflab is as it is."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        return PathFinder.find_spec(name, [f"{ARCHIVE}/siflab"]) if name == "siflab.inside" else None


SIGNALS = [n for n in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2) if signal.getsignal(n) is signal.SIG_DFL]
for each in SIGNALS:
    signal.signal(each, ignore)
os.register_at_fork(after_in_child=as_before)
if sys.__stderr__ is not None:
    faulthandler.enable(sys.__stderr__)  # where native code crashed, in logs/kernel.log
for stream in (sys.stdout, sys.stderr):
    if hasattr(stream, "flush_interval"):
        stream.flush_interval = FLUSH_SECONDS
if ARCHIVE and ARCHIVE not in sys.path:
    sys.path.append(ARCHIVE)  # last, for an image that has no siflab
    sys.meta_path.insert(0, OwnHelpers)
try:
    wait_for_reader()
except Exception as error:  # a kernel that is built otherwise still runs
    print("siflab: the kernel may drop outputs that come too fast:", error, file=sys.__stderr__)
