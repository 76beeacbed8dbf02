"""IPython inside of a rank's own process: what cells print, show and raise goes to one function, as Jupyter's messages.

In process, since torchrun's ranks are its own children, with a real ``__main__`` so that a DataLoader's workers (by
fork) find the classes of the cells. Streams of Python are taken where they are written; what goes past them to the
descriptors 1 and 2 (C code, commands, forked workers) lands in the rank's own file.
"""

from __future__ import annotations

import base64
import builtins
import os
import sys
import types
from contextlib import nullcontext
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell, InteractiveShellABC
from traitlets import Type
from traitlets.config import Config

from .rank_interrupt import Interrupt
from .rank_stream import Gathered, Send, Stream

_send: Send = lambda kind, content: None  # noqa: E731


class _Publisher(DisplayPublisher):
    def publish(
        self,
        data: Any,
        metadata: Any = None,
        source: Any = None,
        *,
        transient: Any = None,
        update: bool = False,
        **kwargs: Any,
    ) -> None:
        kind = "update_display_data" if update else "display_data"
        _send(kind, {"data": _encoded(data), "metadata": metadata or {}, "transient": transient or {}})

    def clear_output(self, wait: bool = False) -> None:
        _send("clear_output", {"wait": wait})


class _Hook(DisplayHook):
    def write_output_prompt(self) -> None:
        return None

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        count = self.prompt_count
        _send("execute_result", {"data": _encoded(format_dict), "metadata": md_dict or {}, "execution_count": count})

    def finish_displayhook(self) -> None:
        self._is_active = False


class RankShell(InteractiveShell):
    display_pub_class = Type(_Publisher)
    displayhook_class = Type(_Hook)

    def _showtraceback(self, etype: Any, evalue: Any, stb: Any) -> None:
        lines = stb if isinstance(stb, list) else str(stb).split("\n")
        _send("error", {"ename": getattr(etype, "__name__", str(etype)), "evalue": str(evalue), "traceback": lines})

    def enable_gui(self, gui: Any = None) -> None:
        return None

    def init_sys_modules(self) -> None:
        sys.modules["__main__"] = self.user_module

    def _tee(self, channel: str) -> Any:
        return nullcontext()  # IPython 9 keeps all that is printed a second time

    def ask_exit(self) -> None:
        raise SystemExit


def make_shell(send: Send, descriptor: int, interrupt: Interrupt) -> RankShell:
    """The shell of this process, its only one. Descriptors 1 and 2 become `descriptor`."""
    global _send
    _send = interrupt.whole(Gathered(send).take)
    take_streams(descriptor)
    builtins.input = _no_input
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    config = Config()
    config.HistoryManager.enabled = False
    shell = RankShell.instance(config=config, user_module=main, user_ns=main.__dict__)
    InteractiveShellABC.register(RankShell)
    return shell


def take_streams(descriptor: int) -> None:
    """Descriptors 1 and 2 go to `descriptor`; Python's streams to the function that was given to `make_shell`."""
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout, sys.stderr = Stream("stdout", 1, _send), Stream("stderr", 2, _send)


def flush_streams() -> None:
    """Hand on what is gathered, whatever sys.stdout is now."""
    _send("flush", {})


def use_fork() -> None:
    """Workers by fork, where Python's default has become another (3.14): they could not find what cells define."""
    import multiprocessing

    if multiprocessing.get_start_method(allow_none=True) is None:
        multiprocessing.set_start_method("fork")


def _encoded(data: Any) -> Any:
    """Pictures that came as bytes as the notebook's format has them."""
    if not isinstance(data, dict):
        return data
    return {kind: base64.b64encode(item).decode() if isinstance(item, bytes) else item for kind, item in data.items()}


def _no_input(*_: Any) -> str:
    raise EOFError("input() needs a person, and a batch job has none: set the value in a cell")
