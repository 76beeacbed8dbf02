"""Where a path of the host is inside a container, and the other way round."""

import posixpath
from collections.abc import Iterable

from siflab.config import Bind


class PathMap:
    """The map that a set of binds makes. Paths are absolute and are normalised; symlinks are not looked at.

    Without binds it is the identity: on a login node inside and outside are the same.
    """

    def __init__(self, binds: Iterable[Bind]) -> None:
        pairs = [(posixpath.normpath(bind.source), posixpath.normpath(bind.target)) for bind in binds]
        self._by_source = sorted(pairs, key=lambda pair: len(pair[0]), reverse=True)
        self._by_target = sorted(pairs, key=lambda pair: len(pair[1]), reverse=True)

    def to_inside(self, host_path: str) -> str | None:
        """The path inside of a host's path, or None when no bind carries it."""
        if not self._by_source:
            return posixpath.normpath(host_path)
        return _moved(host_path, self._by_source)

    def to_host(self, inside_path: str) -> str | None:
        """The host's path of a path inside, or None when it lies in the image or in a folder of the container alone."""
        if not self._by_target:
            return posixpath.normpath(inside_path)
        return _moved(inside_path, [(target, source) for source, target in self._by_target])


def _moved(path: str, pairs: list[tuple[str, str]]) -> str | None:
    path = posixpath.normpath(path)
    for start, instead in pairs:
        if path == start:
            return instead
        prefix = start.rstrip("/") + "/"
        if path.startswith(prefix):
            return posixpath.join(instead, path[len(prefix) :])
    return None
