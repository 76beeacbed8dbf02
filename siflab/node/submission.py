"""What the bridge makes of a request's words: for sbatch, paths and script as the host has them."""

import contextlib
import os
import shutil
import stat
import tempfile

from .paths import mapped_options, missing_folders
from .words import Words

_FOLDER = "scripts"


@contextlib.contextmanager
def prepare(request, script, path_map, cwd, folder):
    """(the command's arguments, warnings) for as long as the command runs; `script` is its content or None."""
    name, words = os.path.basename(request["argv"][0]), list(request["argv"][1:])
    if name != "sbatch":
        yield words, []
        return
    inside = words[request["script"]["at"] - 1] if script is not None else None
    with _script_file(inside, script, request["cwd"], path_map, folder) as path:
        if path is not None:
            words[request["script"]["at"] - 1] = path
        words = mapped_options(words, script, path_map)
        yield words, [_missing(path) for path in missing_folders(words, cwd)]


@contextlib.contextmanager
def _script_file(inside, script, cwd, path_map, folder):
    """Where sbatch finds the script. If the host has the same file, that one, so that Slurm shows its name; else a copy
    of the same base name, from which sbatch derives the job's name."""
    if script is None:
        yield None
        return
    on_host = path_map.to_host(os.path.join(cwd, inside))
    if on_host is not None and _content(on_host, len(script)) == script:
        yield on_host
        return
    parent = os.path.join(folder, _FOLDER)
    os.makedirs(parent, mode=0o700, exist_ok=True)
    place = tempfile.mkdtemp(dir=parent)
    try:
        copy = os.path.join(place, os.path.basename(inside))
        with open(copy, "wb") as stream:
            stream.write(script)
        yield copy
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _content(path, size):
    """The first bytes of a file; None of anything else: a FIFO would be waited for until somebody writes to it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as stream:
            return stream.read(size + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None


def _missing(folder):
    return Words(
        "the folder %s for the job's output does not exist on the node; Slurm would end the job without any log"
        % folder,
        "节点上不存在用于作业输出的目录 %s；Slurm 将直接结束作业且不留日志" % folder,
    )
