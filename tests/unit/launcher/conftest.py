"""The launcher as a process: a copy with settings of the test, run as an ordinary account, its Slurm commands faked."""

import grp
import json
import os
import pwd
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "launcher" / "siflab-launcher"
IS_ROOT = os.geteuid() == 0
ACCOUNT = pwd.getpwnam("nobody") if IS_ROOT else pwd.getpwuid(os.geteuid())  # whom it runs as
CALLER = pwd.getpwnam("daemon")  # the Hub's account
FAKE = """#!/bin/sh
for word in "$0" "$@"; do printf '%s\\0' "$word"; done > {folder}/argv
env -0 > {folder}/env
pwd > {folder}/cwd
umask > {folder}/umask
ls /proc/self/fd > {folder}/fds
cat > {folder}/stdin
. {folder}/behaviour
"""


class Launcher:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seen = folder / "seen"
        self.bin = folder / "bin"
        self.program = folder / "siflab-launcher"
        self.config = folder / "launcher.json"
        for made in (self.seen, self.bin):
            made.mkdir()
        folder.chmod(0o755)
        self.seen.chmod(0o777)
        text = SOURCE.read_text("utf-8")
        text = text.replace('CONFIG = "/etc/siflab/launcher.json"', f'CONFIG = "{self.config}"')
        self.program.write_text(text.replace("OWNER = 0", f"OWNER = {os.geteuid()}"), "utf-8")
        self.program.chmod(0o755)
        self.settings = {"account": CALLER.pw_name, "group": grp.getgrgid(ACCOUNT.pw_gid).gr_name,
                         "min_uid": min(1000, ACCOUNT.pw_uid), "slurm_bin": str(self.bin), "slurm_conf": ""}  # fmt: skip
        self.write_settings()
        for name in ("sbatch", "scancel", "squeue", "scontrol", "sacct"):
            (self.bin / name).write_text(FAKE.format(folder=self.seen))
            (self.bin / name).chmod(0o755)
        self.behave("exit 0")

    def write_settings(self, **changes) -> None:
        self.settings.update(changes)
        self.config.write_text(json.dumps(self.settings))
        self.config.chmod(0o644)

    def behave(self, lines: str) -> None:
        """What the Slurm commands do after they wrote down how they were called."""
        (self.seen / "behaviour").write_text(lines + "\n")
        (self.seen / "behaviour").chmod(0o644)

    def raw(self, data: bytes, *argv: str, as_user=ACCOUNT, python: str = sys.executable, **env: str):
        command = [python, "-I", str(self.program), *argv]
        identity = {}
        if IS_ROOT and as_user is not None:
            identity = {"user": as_user.pw_uid, "group": as_user.pw_gid, "extra_groups": [as_user.pw_gid]}
        return subprocess.run(
            command, input=data, capture_output=True, timeout=60, check=False,
            env={"PATH": "/usr/bin:/bin", "SUDO_UID": str(CALLER.pw_uid), **env}, **identity,
        )  # fmt: skip

    def ask(self, request: dict, **options) -> dict:
        common = {"version": 1, "user": ACCOUNT.pw_name, "timeout": 30}
        done = self.raw(json.dumps({**common, **request}).encode(), **options)
        assert done.stdout, done.stderr
        answer = json.loads(done.stdout)
        assert answer.pop("version") == 1
        assert done.returncode == (3 if "refused" in answer else 0)
        return answer

    def argv(self) -> list[str]:
        words = (self.seen / "argv").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
        return [Path(words[0]).name, *words[1:]]

    def ran(self) -> bool:
        return (self.seen / "argv").exists()

    def env(self) -> dict[str, str]:
        pairs = (self.seen / "env").read_text().split("\0")[:-1]
        return dict(pair.partition("=")[::2] for pair in pairs)

    def text(self, name: str) -> str:
        return (self.seen / name).read_text().strip()


@pytest.fixture
def launcher():
    """In a folder that other accounts can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory(prefix="siflab-test-") as folder:
        yield Launcher(Path(folder))
