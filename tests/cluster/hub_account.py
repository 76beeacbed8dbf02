"""A Hub that runs as an ordinary account of its own, with a launcher installed for it; nothing of either is left behind.

Its files lie outside pytest's folders, which other accounts cannot enter.
"""

import contextlib
import grp
import os
import pwd
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cluster.hub import REPOSITORY, Hub

ACCOUNT, GROUP = "siflab-test-hub", "siflab-test-users"
PROGRAM = "/usr/local/libexec/siflab-test-launcher"
PLACES = ("--program", PROGRAM, "--config", "/etc/siflab/test-launcher.json", "--sudoers", "/etc/sudoers.d/siflab-test")
SETTINGS = f"c.SingularitySlurmSpawner.launcher = {PROGRAM!r}\n"


def why_no_account() -> str | None:
    """Why a Hub of its own account cannot be tried here, or None."""
    if os.geteuid() != 0:
        return "accounts and a line of sudoers are made, which takes root"
    if not shutil.which("sudo") or not shutil.which("visudo"):
        return "no sudo on this machine: the Hub as an ordinary account was NOT tried (install sudo)"
    return None


def run(*argv: str, check: bool = True) -> str:
    return subprocess.run(argv, check=check, capture_output=True, text=True, timeout=60).stdout


def install(*options: str) -> "subprocess.CompletedProcess[str]":
    command = [REPOSITORY / "launcher" / "install", *PLACES, *options]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


@contextlib.contextmanager
def account_with_launcher(members: list[str]) -> Iterator[str]:
    """The account, the group of `members`, and a launcher for both."""
    remove()
    run("groupadd", "--system", GROUP)
    run("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", ACCOUNT)
    try:
        for member in members:
            run("gpasswd", "--add", member, GROUP)
        done = install(
            "--account", ACCOUNT, "--group", GROUP, "--slurm-conf", os.environ["SLURM_CONF"],
            "--slurm-bin", str(Path(shutil.which("sbatch") or "/usr/bin/sbatch").parent),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        yield ACCOUNT
    finally:
        remove()


def remove() -> None:
    assert install("--remove").returncode == 0
    with contextlib.suppress(KeyError):
        pwd.getpwnam(ACCOUNT)
        run("userdel", ACCOUNT)
    with contextlib.suppress(KeyError):
        grp.getgrnam(GROUP)
        run("groupdel", GROUP)


def as_account(*argv: str, stdin: str = "", name: str = ACCOUNT) -> "subprocess.CompletedProcess[str]":
    account = pwd.getpwnam(name)
    return subprocess.run(argv, input=stdin, capture_output=True, text=True, timeout=60, check=False, cwd="/",
                          user=account.pw_uid, group=account.pw_gid, extra_groups=[account.pw_gid])  # fmt: skip


class AccountHub(Hub):
    """A Hub that runs as ACCOUNT, on a copy of the code that it can read."""

    def __init__(self, folder: Path, site_data: dict[str, Any], extra_config: str = SETTINGS) -> None:
        super().__init__(folder, site_data, extra_config)
        account = pwd.getpwnam(ACCOUNT)
        for name in ("siflab", "spawner/siflab_spawner"):
            shutil.copytree(
                REPOSITORY / name, folder / "code" / Path(name).name, ignore=shutil.ignore_patterns("__pycache__")
            )
        os.chmod(folder, 0o755)
        for file in (folder, *folder.glob("*")):
            if file.name != "code":
                os.chown(file, account.pw_uid, account.pw_gid)
        self.python = str(folder / "python")
        identity = ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]
        path = shlex.quote(str(folder / "code"))
        Path(self.python).write_text(
            f"#!/bin/sh\nexport HOME={shlex.quote(str(folder))} PYTHONPATH={path}\nexec {shlex.join(identity)} "
            f'{shlex.quote(sys.executable)} "$@"\n'
        )
        os.chmod(self.python, 0o755)


@contextlib.contextmanager
def folder_of_hub() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="siflab-test-") as folder:
        yield Path(folder)
