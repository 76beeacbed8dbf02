"""Paths in the options of a command, from how the container has them to how the host has them."""

import os

_SBATCH_PATHS = {
    "-o": "--output", "-e": "--error", "-i": "--input", "-D": "--chdir",
    "--output": "--output", "--error": "--error", "--input": "--input", "--chdir": "--chdir", "--workdir": "--chdir",
}  # fmt: skip


def to_host(path, binds):
    """The host's path of a path inside; as it is where no bind carries it. `binds` are (inside, host) pairs."""
    path = os.path.normpath(path)
    for inside, host in sorted(binds, key=lambda pair: -len(pair[0])):
        if path == inside or path.startswith(inside.rstrip("/") + "/"):
            return os.path.normpath(host + "/" + path[len(inside) :])
    return path


def map_sbatch(argv, binds):
    """sbatch's argv with absolute paths in its own options mapped; what follows the script's name is the script's."""
    mapped, rest = [argv[0]], list(argv[1:])
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if name in _SBATCH_PATHS and equals:
            mapped.append(name + "=" + _map(value, binds))
        elif word in _SBATCH_PATHS and rest:
            mapped += [word, _map(rest.pop(0), binds)]
        elif word[:2] in ("-o", "-e", "-i", "-D") and len(word) > 2 and not word.startswith("--"):
            mapped.append(word[:2] + _map(word[2:], binds))
        else:
            mapped.append(word)
            if not word.startswith("-"):
                return mapped + rest
    return mapped


def _map(value, binds):
    return to_host(value, binds) if value.startswith("/") else value
