"""What an instance has created on this machine, written down before it is created; `clean` removes this, no more."""

import json
from collections.abc import Iterable
from pathlib import Path

from cluster.instance.names import STATE, Instance

KINDS = ("users", "folders", "links", "files", "caches", "modes", "packages")


class Manifest:
    """The list, kept in `manifest.json` of the instance's state folder after every change."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            read = json.loads(path.read_text())
        except (OSError, ValueError):
            read = {}
        self.entries: dict[str, list[str]] = {kind: list(read.get(kind, [])) for kind in KINDS}

    @classmethod
    def of(cls, instance: Instance) -> "Manifest":
        return cls(instance.root / "manifest.json")

    def has(self, kind: str, entry: str | Path) -> bool:
        return str(entry) in self.entries[kind]

    def add(self, kind: str, entries: Iterable[str | Path]) -> None:
        """Write them down; called before they are created, so that what a cut-off command made is known too."""
        new = [str(entry) for entry in entries if str(entry) not in self.entries[kind]]
        if new:
            self.entries[kind] += new
            self.save()

    def drop(self, kind: str, entry: str | Path) -> None:
        if str(entry) in self.entries[kind]:
            self.entries[kind].remove(str(entry))
            self.save()

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.entries, indent=1) + "\n")
        fresh.replace(self.path)

    def folder(self, path: Path, mode: int = 0o755) -> bool:
        """Create a folder if it is not there; True if it did. Whose it was before it stays."""
        if path.is_dir():
            return False
        self.add("folders", [path])
        path.mkdir(parents=True)
        path.chmod(mode)
        return True


def others(instance: Instance) -> list[Manifest]:
    """The manifests of all other instances on this machine."""
    return [Manifest(path) for path in STATE.glob("*/manifest.json") if path.parent != instance.root]
