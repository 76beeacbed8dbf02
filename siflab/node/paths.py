"""Paths of the container as the node has them."""

import os
import posixpath

from . import sbatch_line

_SAME = ("/tmp", "/var/tmp")  # Singularity mounts the node's own (`mount tmp`, on by default)


class PathMap(object):
    """`binds` are (source on the host, target inside) pairs; the longest target that fits counts."""

    def __init__(self, binds):
        pairs = [(posixpath.normpath(source), posixpath.normpath(target)) for source, target in binds]
        pairs += [(path, path) for path in _SAME]
        self._pairs = sorted(pairs, key=lambda pair: len(pair[1]), reverse=True)

    def to_host(self, inside):
        """The host's path of an absolute path inside, or None when no bind carries it: it is the image's own."""
        inside = posixpath.normpath(inside)
        for source, target in self._pairs:
            if inside == target:
                return source
            prefix = target.rstrip("/") + "/"
            if inside.startswith(prefix):
                return posixpath.join(source, inside[len(prefix) :])
        return None


def mapped_options(words, script, path_map):
    """What follows ``sbatch``, with the absolute paths in its options as the host has them. The same for the script's
    #SBATCH lines, by options on the command line: they come first, and where one is given already, that one counts."""
    options, end = sbatch_line.parse(words)
    given = {option.name for option in options}
    extra = []
    for option in sbatch_line.directives(script) if script is not None else ():
        moved = _moved(option, path_map)
        if moved is not None and option.name not in given:
            extra.append("--%s=%s" % (option.name, moved))
    mapped = list(words)
    for option in options:
        moved = _moved(option, path_map)
        if moved is None:
            continue
        word = words[option.at]
        if option.width == 2:
            mapped[option.at + 1] = moved
        elif word.startswith("--"):
            mapped[option.at] = word.partition("=")[0] + "=" + moved
        else:
            mapped[option.at] = word[: len(word) - len(option.value)] + moved
    return extra + mapped


def missing_folders(words, cwd):
    """Folders for a job's output that are not on this host: the job would end at once, without any log."""
    found = []
    for option in sbatch_line.parse(words)[0]:
        if option.name in ("output", "error") and option.value:
            parent = os.path.join(cwd, posixpath.dirname(option.value))
            if "%" not in parent and not os.path.isdir(parent):
                found.append(parent)
    return found


def _moved(option, path_map):
    """The new value of an option that is a path, or None when it stays."""
    if option.name not in sbatch_line.PATHS or not option.value or not option.value.startswith("/"):
        return None
    moved = path_map.to_host(option.value)
    return moved if moved != option.value else None
