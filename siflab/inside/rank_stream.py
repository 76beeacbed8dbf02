"""What a rank's cells print, gathered for 20 ms, as a kernel does it: not each print costs a write to the disk."""

from __future__ import annotations

import io
import os
import threading
import time
from collections.abc import Callable
from typing import Any

Send = Callable[[str, "dict[str, Any]"], None]
"""(kind of message on Jupyter's IOPub channel, its content)."""

_SECONDS = 0.02
_CHARACTERS = 1_000_000


class Gathered:
    """Messages in their order, those of streams joined. In a child by fork, such as a DataLoader's worker, whose locks
    may be held by a thread that it does not have, text goes to the descriptor."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._name = ""
        self._parts: list[str] = []
        self._size = 0
        self._due = threading.Event()
        threading.Thread(target=self._flush_often, daemon=True).start()

    def take(self, kind: str, content: dict[str, Any]) -> None:
        """`kind` may also be "flush"."""
        if os.getpid() != self._owner:
            plain = "\n".join(content.get("traceback") or [content.get("data", {}).get("text/plain", "")])
            text = content["text"] if kind == "stream" else plain and plain + "\n"
            os.write(2 if content.get("name") == "stderr" else 1, text.encode("utf-8", "replace"))
            return
        with self._lock:
            if kind != "stream":
                self._flush()
                if kind != "flush":
                    self._send(kind, content)
                return
            if content["name"] != self._name:
                self._flush()
                self._name = content["name"]
            self._parts.append(content["text"])
            self._size += len(content["text"])
            if self._size > _CHARACTERS:
                self._flush()
            elif not self._due.is_set():
                self._due.set()

    def _flush(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        if parts:
            self._send("stream", {"name": self._name, "text": "".join(parts)})

    def _flush_often(self) -> None:
        while True:
            self._due.wait()
            time.sleep(_SECONDS)
            self._due.clear()
            with self._lock:
                self._flush()


class Stream(io.TextIOBase):
    """In the place of sys.stdout and sys.stderr."""

    encoding, errors = "utf-8", "replace"

    def __init__(self, name: str, descriptor: int, send: Send) -> None:
        self.name, self._descriptor, self._send = name, descriptor, send

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if text:
            self._send("stream", {"name": self.name, "text": text})
        return len(text)

    def fileno(self) -> int:
        return self._descriptor

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False

    def flush(self) -> None:
        self._send("flush", {})
