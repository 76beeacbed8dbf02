"""The extension as Jupyter Server loads it: its settings, what it starts, and how it stops."""

from pathlib import Path

from jupyter_server.extension.application import ExtensionApp
from traitlets import Float, Integer

from siflab_extension.engine import Engine
from siflab_extension.handlers import handlers
from siflab_extension.service import SETTING, Service
from siflab_extension.stream import StreamPace
from siflab_extension.watcher import Pace, Watcher
from siflab_extension.workroom import Workroom


class SiflabExtension(ExtensionApp):
    """Promote notebooks to Slurm jobs and follow them: the server's side."""

    name = "siflab_extension"
    load_other_extensions = True

    call_limit = Float(
        90.0,
        config=True,
        help="""Seconds that one request may take before it is answered with a failure; it should be longer than the
        time that Slurm's commands get, so that what they say is heard. E.g. c.SiflabExtension.call_limit = 120""",
    )
    threads = Integer(
        4,
        min=1,
        config=True,
        help="Requests that are worked on at the same time; more wait. E.g. c.SiflabExtension.threads = 8",
    )
    active_interval = Float(
        2.0,
        config=True,
        help="""Seconds between two looks at the runs while one of them is queued or running and a page follows them.
        E.g. c.SiflabExtension.active_interval = 5""",
    )
    ended_interval = Float(
        15.0,
        config=True,
        help="""The same when all runs have ended: how long a run that was promoted in a terminal stays unseen.
        E.g. c.SiflabExtension.ended_interval = 60""",
    )
    failing_interval = Float(
        10.0,
        config=True,
        help="The same while Slurm does not answer. E.g. c.SiflabExtension.failing_interval = 30",
    )
    log_interval = Float(
        1.0,
        config=True,
        help="""Seconds between two reads of a log that a page follows; up to three times as long when it is silent.
        E.g. c.SiflabExtension.log_interval = 2""",
    )

    metrics_interval = Float(
        5.0,
        config=True,
        help="""Seconds between two readings of what a run uses, for a page that follows it; longer where reading takes
        more than a tenth of that. E.g. c.SiflabExtension.metrics_interval = 15""",
    )

    def initialize_settings(self) -> None:
        """Make what the handlers share; nothing of Siflab's engine is loaded before the first request needs it."""
        assert self.serverapp is not None
        engine = Engine(Workroom(threads=self.threads, limit=self.call_limit), self.log)
        watcher = Watcher(
            engine.list_runs,
            Pace(self.active_interval, self.ended_interval, self.failing_interval),
        )
        contents = self.serverapp.contents_manager
        root = getattr(contents, "root_dir", "") or self.serverapp.root_dir
        pace = StreamPace(log=self.log_interval, metrics=self.metrics_interval)
        self.service = Service(engine, watcher, Path(root).expanduser(), pace)
        self.settings[SETTING] = self.service

    def initialize_handlers(self) -> None:
        self.handlers.extend(handlers())

    async def stop_extension(self) -> None:
        """Close the pages' streams, stop looking at runs, let no new work begin."""
        await self.service.close()
