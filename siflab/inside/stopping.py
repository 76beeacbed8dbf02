"""What the notebook did since the run was asked to stop: words that `checkpoint` left in the attempt's folder."""

from __future__ import annotations

from contextlib import suppress

from .attempt import AttemptFolder

HOOK = "hook"
"""`checkpoint.on_stop` has a function to call, by the code below."""
SEEN = "seen"
"""`checkpoint.should_stop` said yes."""
SAVED = "saved"
"""A checkpoint was saved after the run was asked to stop."""
CALL_HOOKS = "__import__('siflab.inside.checkpoint', fromlist=['checkpoint']).run_stop_hooks() and None"


def answers(folder: AttemptFolder) -> frozenset[str]:
    try:
        return frozenset(folder.stop_answers.read_text("ascii", "replace").split())
    except OSError:
        return frozenset()


def add_answer(folder: AttemptFolder, word: str) -> None:
    with suppress(OSError), folder.stop_answers.open("a") as file:
        file.write(f"{word}\n")


def ask(folder: AttemptFolder, number: int) -> None:
    """Have it known to all processes of the attempt that the run was asked to stop, by this signal."""
    with suppress(OSError):
        folder.stop.write_text(f"{number}\n", "ascii")


def asked_by(folder: AttemptFolder) -> int | None:
    """The signal; 0 when nobody has noted which; None when the run was not asked to stop."""
    try:
        said = folder.stop.read_bytes().strip()
    except OSError:
        return None
    return int(said) if said.isdigit() else 0


def has_checkpoint(folder: AttemptFolder) -> bool:
    """Whether the next attempt finds anything in $CHECKPOINT_DIR, whoever wrote it."""
    try:
        return any(not path.name.startswith(".") for path in folder.checkpoints.iterdir())
    except OSError:
        return False


def clear(folder: AttemptFolder) -> None:
    for path in (folder.stop, folder.heeds_stop, folder.stop_answers):
        with suppress(OSError):
            path.unlink()
