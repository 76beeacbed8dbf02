"""The instance's people: Linux users with random passwords that only root can read."""

import json
import os
from pathlib import Path

from cluster.instance.manifest import Manifest
from cluster.instance.names import CHECKOUT, Instance
from cluster.lab import people as lab_people
from cluster.lab.trouble import run

EXAMPLES = CHECKOUT / "examples"


def passwords(instance: Instance) -> dict[str, str]:
    try:
        read = json.loads(instance.passwords.read_text())
    except (OSError, ValueError):
        return {}
    return {str(name): str(password) for name, password in read.items()}


def make(instance: Instance, manifest: Manifest) -> None:
    """Users that are not there yet, a password for each that has none, and the sample notebooks in their homes."""
    manifest.add("users", [member.name for member in instance.members])
    lab_people.make_users(instance.cluster())
    kept = passwords(instance)
    without = [member.name for member in instance.members if member.name not in kept]
    if without:
        write_private(instance.passwords, json.dumps({**kept, **lab_people.new_passwords(without)}, indent=1) + "\n")
    for member in instance.members:
        give_examples(member.name)


def write_private(path: Path, text: str) -> None:
    """Through a file beside it that was never readable to others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    fresh.replace(path)


def give_examples(name: str) -> None:
    """As that user, so that no link in the home leads root elsewhere; a notebook that is there already is theirs."""
    for notebook in sorted(EXAMPLES.glob("*.ipynb")):
        argv = ["runuser", "-u", name, "--", "sh", "-c", 'set -C; cat > "$HOME/$1"', "sh", notebook.name]
        run(argv, stdin=notebook.read_text("utf-8"), env={"HOME": f"/home/{name}"}, check=False, cwd=Path("/"))
