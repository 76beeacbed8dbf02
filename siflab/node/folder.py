"""The session's private folder, as the container has it."""

import json
import os

COMMANDS = ("sbatch", "squeue", "scancel", "sacct", "sinfo", "scontrol", "sstat", "sprio", "sshare", "srun", "salloc",
            "siflab")  # fmt: skip
_CLIENT = "client.sh"


def take(folder, name):
    """Read a JSON file and remove it: nobody needs it twice. Raises OSError or ValueError."""
    path = os.path.join(folder, name)
    with open(path, "rb") as stream:
        data = json.loads(stream.read().decode("utf-8"))
    os.unlink(path)
    return data


def put(folder, name, text):
    """Write a file for this user alone, whole or not at all. Raises ValueError for what is no plain file name."""
    if name != os.path.basename(name) or name in ("", ".", "..") or "\0" in name:
        raise ValueError("no file name: %r" % (name,))
    temporary = os.path.join(folder, ".new-" + name)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(text.encode("utf-8"))
    os.replace(temporary, os.path.join(folder, name))


def install_clients(folder, python, script):
    """bin/ with one program under the names of Slurm's commands; `python` is what it runs with."""
    put(folder, "python", python + "\n")
    commands = os.path.join(folder, "bin")
    os.makedirs(commands, exist_ok=True)
    put(commands, _CLIENT, script)
    os.chmod(os.path.join(commands, _CLIENT), 0o700)
    for name in COMMANDS:
        path = os.path.join(commands, name)
        if not os.path.lexists(path):
            os.symlink(_CLIENT, path)
