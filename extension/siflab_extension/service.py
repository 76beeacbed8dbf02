"""What the handlers of one server share."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from siflab_extension.engine import Engine
from siflab_extension.environments import EnvironmentJobs
from siflab_extension.stream import StreamPace
from siflab_extension.watcher import Watcher

#: The key of the web application's settings under which a handler finds the `Service`.
SETTING = "siflab"


class Page(Protocol):
    """The connection of one page that listens to events."""

    def leave(self) -> None:
        """Close it, because the server stops."""


@dataclass
class Service:
    """One for each server process; `root` is the folder that relative paths of notebooks start from."""

    engine: Engine
    watcher: Watcher
    root: Path
    stream_pace: StreamPace
    pages: set[Page] = field(default_factory=set)
    environments: EnvironmentJobs = field(default_factory=EnvironmentJobs)

    async def close(self) -> None:
        """Close all pages' connections, the watcher and the threads, in this order, since each uses the next."""
        for page in list(self.pages):
            page.leave()
        await self.watcher.close()
        self.engine.close()
        await asyncio.to_thread(self.environments.close)
