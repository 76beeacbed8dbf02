"""What a command in a browser's terminal prints, read through a named pipe in the person's home: the terminal draws on a
canvas, which has no text to look at."""

import os
import pwd
import select
import time
from pathlib import Path

LIMIT = 60.0  # seconds


class Pipe:
    """A pipe that the person's shell knows as `shown`."""

    def __init__(self, name: str, token: str) -> None:
        entry = pwd.getpwnam(name)
        self.path = Path(entry.pw_dir) / f".siflab-test-{token}"
        self.path.unlink(missing_ok=True)
        os.mkfifo(self.path, 0o600)
        os.chown(self.path, entry.pw_uid, entry.pw_gid)
        self.shown = f"~/{self.path.name}"
        self._reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)

    def read(self) -> str:
        """All of it, when its writer has ended."""
        deadline, data = time.monotonic() + LIMIT, b""
        poller = select.poll()
        poller.register(self._reader, select.POLLIN | select.POLLHUP)
        while (left := deadline - time.monotonic()) > 0:
            events = poller.poll(left * 1000)
            piece = os.read(self._reader, 65536) if events else b""
            if events and not piece:
                os.close(self._reader)
                self.path.unlink()
                return data.decode("utf-8", "replace")
            data += piece
        raise TimeoutError(f"the command did not end within {LIMIT:.0f} s; it printed: {data!r}")
