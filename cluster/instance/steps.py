"""Progress on the terminal: ``[3/9] Slurm cluster ... 12 s``, a log of each step, and what to do when one fails."""

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from cluster.lab.trouble import Trouble
from siflab.text import Text, terminal_language


@dataclass(frozen=True)
class Step:
    """One part of the work; what it prints goes to its log. `advice` is shown when it fails."""

    name: str
    title: Text
    act: Callable[[], object]
    advice: Text


class StepFailed(Exception):
    """A step could not be done, and the reader has been told."""


@contextmanager
def heartbeat(seconds: float = 10) -> Iterator[None]:
    """A dot now and then on the terminal, so that a long step is seen to be at work."""
    ended = threading.Event()
    terminal = sys.stdout

    def beat() -> None:
        while not ended.wait(seconds):
            print(".", end=" ", file=terminal, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def perform(steps: list[Step], log: Callable[[str], Path], shown: Callable[[], list[Text]]) -> None:
    """Do them in their order. `shown` gives what a step wants said aloud, beside its log."""
    language = terminal_language()
    for number, step in enumerate(steps, 1):
        print(f"[{number}/{len(steps)}] {step.title.to(language)} ...", end=" ", flush=True)
        begun = time.monotonic()
        path = log(step.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", buffering=1) as file:
            try:
                with heartbeat(), redirect_stdout(file):
                    step.act()
            except KeyboardInterrupt:
                print("", flush=True)
                raise
            except Exception as error:
                traceback.print_exc(file=file)
                print(Text("failed", "失败").to(language), flush=True)
                explain(step, error, path, language)
                raise StepFailed from None
        print(f"{time.monotonic() - begun:.0f} s", flush=True)
        for text in shown():
            print(f"      {text.to(language)}", flush=True)


def explain(step: Step, error: Exception, path: Path, language: str) -> None:
    """What happened, why, what to do."""
    message = error.message if isinstance(error, Trouble) else Text.plain(f"{type(error).__name__}: {error}")
    texts = [message, step.advice, Text(f"The step's log: {path}", f"此步骤的日志：{path}")]
    print("\n" + "\n".join(text.to(language) for text in texts), file=sys.stderr, flush=True)
