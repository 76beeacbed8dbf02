"""The spawner that does the work, wherever a wrapper (wrapspawner) stands in front of it."""

from typing import Any


def innermost(spawner: Any) -> Any:
    """The spawner that does the work, wrapped or not."""
    while getattr(spawner, "child_spawner", None) is not None:
        spawner = spawner.child_spawner
    return spawner
