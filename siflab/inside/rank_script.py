"""A script in the process of one rank: the snapshot's code, under the path of its source."""

from __future__ import annotations

import os
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from .attempt import AttemptFolder
from .outcome import COMPLETED, Outcome, words
from .parameters import arguments_of, point_values
from .ranks import log_of
from .result import Failure
from .script_snapshot import use_snapshot
from .script_stop import ScriptStop


def run_script(folder: AttemptFolder, request: dict[str, Any], rank: int) -> Outcome:
    """As ``python -u script arguments`` would, in its source's folder. Raises OSError, BadNotebook (points.json)."""
    source = str(request.get("notebook") or folder.run / "input.py")
    content = (folder.run / "input.py").read_bytes()
    arguments = [str(word) for word in request.get("arguments") or []]
    if folder.point is not None:
        arguments += arguments_of(point_values(folder.run, folder.point))
    _log_to(log_of(folder, rank))
    stop = ScriptStop(folder, request)
    use_snapshot(source, folder.run / "input.py", content)
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=source, __builtins__=__builtins__)
    sys.modules["__main__"] = main
    sys.argv = [source, *arguments]
    sys.path[0] = str(Path(source).parent)
    try:
        exec(compile(content, source, "exec"), main.__dict__)
    except SystemExit as end:
        return stop.judged(_exited(end), end)
    except BaseException as error:
        return stop.judged(_failed(error, source), error)
    return stop.judged(COMPLETED, None)


def _log_to(path: Path) -> None:
    """Descriptors 1 and 2; Python's streams, line by line, go through them."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
        stream.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)


def _exited(end: SystemExit) -> Outcome:
    if end.code in (None, 0):
        return COMPLETED
    if not isinstance(end.code, int):
        print(end.code, file=sys.stderr)
    shown = end.code if isinstance(end.code, int) else 1
    message = words(
        f"The script ended with exit code {shown}; see its log for what it said.",
        f"脚本以退出码 {shown} 结束；其输出见日志。",
    )
    return Outcome("failed", Failure("SystemExit", str(end.code)), None, message)


def _failed(error: BaseException, source: str) -> Outcome:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename == source]
    line = ours[-1].lineno if ours else getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list([f for f in frames if "/runner.pyz/" not in f.filename])
    text = "".join(shown.format())
    print(text, end="", file=sys.stderr)
    name, short = type(error).__name__, str(error).strip().partition("\n")[0][:300].rstrip(".")
    where_en, where_zh = (f"Line {line}: ", f"第 {line} 行：") if line else ("", "")
    message = words(f"{where_en}{name}: {short}", f"{where_zh}{name}: {short}")
    return Outcome("failed", Failure(name, str(error), line=line, traceback_text=text), None, message)
