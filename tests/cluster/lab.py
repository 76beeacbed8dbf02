"""The cluster of the tests, and a second one that a test may treat badly: `cluster/slurm-cluster` as a program."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cluster.lab import processes
from siflab.text import Text

PROGRAM = Path(__file__).parents[2] / "cluster" / "slurm-cluster"


def why_not() -> str | None:
    """Why these tests cannot run here, or None."""
    if os.geteuid() != 0:
        return "a cluster is made by root"
    if not os.environ.get("SIFLAB_TEST_CLUSTER") or not shutil.which("sbatch"):
        return "no cluster: SIFLAB_TEST_CLUSTER is not set (cluster/demo --instance test env)"
    return None


def until(what: str, holds: Callable[[], bool], seconds: float = 30) -> None:
    processes.wait_until(Text.plain(what), holds, seconds)


@dataclass(frozen=True)
class Lab:
    """One cluster, by its root folder; `options` are what it is made with."""

    root: Path
    options: tuple[str, ...] = ()

    def program(self, *argv: str, check: bool = True) -> "subprocess.CompletedProcess[str]":
        command = [str(PROGRAM), "--root", str(self.root), *self.options, *argv]
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, env={**os.environ, "LC_ALL": "C"})
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done

    def on(self, node: str, *argv: str) -> "subprocess.CompletedProcess[str]":
        """A command on a node, as if one had logged in there."""
        return self.program("node-exec", node, *argv, check=False)

    def slurm(self, *argv: str, user: str | None = None, check: bool = True) -> str:
        """The output of one of Slurm's commands, as that user."""
        command = [*(["runuser", "-u", user, "--"] if user else []), *argv]
        conf = str(self.root / "etc" / "slurm.conf")
        env = {"PATH": processes.PATH, "SLURM_CONF": conf, "HOME": "/tmp", "LC_ALL": "C"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, env=env, cwd="/")
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def job(self, user: str, command: str, *options: str) -> str:
        """Submit and return the job's id."""
        wrapped = ["sbatch", "--parsable", "--output=/dev/null", *options, f"--wrap={command}"]
        return self.slurm(*wrapped, user=user).strip()

    def state(self, job: str) -> str:
        """Of the job's record in accounting; steps are left out."""
        return self.slurm("sacct", "-nPX", "-j", job, "-o", "state").strip()

    def daemons(self) -> dict[str, int]:
        """Role to pid, of those that run."""
        found = {}
        for line in self.program("status", check=False).stdout.splitlines():
            words = line.split()
            if "pid" in words:
                found[" ".join(words[: words.index("up")])] = int(words[-1])
        return found
