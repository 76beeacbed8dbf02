"""A person at a terminal of the cluster: `siflab` as an ordinary Linux user, with a site.yaml and a home of the test's.

What it needs is taken from the environment, as `tests.cluster.hub` has it, and:
    SIFLAB_TEST_USER_PYTHON  a Python with siflab's dependencies that the users may run; this one's if left out
"""

import json
import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.hub import BINDS, IMAGE, PYTHON, REPOSITORY

PYTHON_OF_USERS = os.environ.get("SIFLAB_TEST_USER_PYTHON", sys.executable)
ENDED = {"completed", "failed", "cancelled", "timeout", "out_of_memory", "node_fail"}


def why_no_run() -> str | None:
    """Why the tests cannot run here, or None."""
    if os.geteuid() != 0:
        return "these tests act as several users, so they run as root"
    if not os.environ.get("SLURM_CONF") or not shutil.which("sbatch"):
        return "no cluster: SLURM_CONF is not set, or there is no sbatch"
    return None if IMAGE and Path(IMAGE).exists() else "no image: set SIFLAB_TEST_IMAGE"


def site(**changes: Any) -> dict[str, Any]:
    """A site.yaml for the cluster, as data. `changes` replace whole top-level keys."""
    common = {"image": "stock", "memory": "1G", "time": "0:30:00", "cpus": 1}
    data: dict[str, Any] = {
        "version": 1,
        "name": "test-" + secrets.token_hex(3),
        "title": "Test",
        "slurm": {
            "conf": os.environ["SLURM_CONF"],
            "partitions": {"cpu": {"environment": {"OF_THE_SITE": "a 'b' $c"}}},
        },
        "singularity": {"binds": BINDS},
        "images": {
            "stock": {"path": IMAGE, "title": "Stock", "python": PYTHON},
            "missing": {"path": "/nowhere/missing.sif", "title": "Missing"},
            "no-sif": {"path": "/etc/passwd", "title": "No SIF"},
            "no-python": {"path": IMAGE, "title": "No Python", "python": "/no/such/python"},
        },
        "profiles": {
            "cpu": {
                **common,
                "title": {"en": "CPU only", "zh": "仅 CPU"},
                "partition": "cpu",
                "allow": {
                    "cpus": {"min": 1, "max": 4},
                    "memory": "4G",
                    "time": "2:00:00",
                    "image": ["missing", "no-sif", "no-python"],
                },
            },
            "a100": {
                **common,
                "title": "A100",
                "partition": "gpu-a100",
                "gpus": 1,
                "gpu_type": "a100",
                "allow": {"gpus": {"min": 1, "max": 4}},
            },
            "greedy": {
                **common,
                "title": "More than a node has",
                "partition": "gpu-a100",
                "gpus": 64,
                "gpu_type": "a100",
            },
            "nowhere": {**common, "title": "No such partition", "partition": "no-such-partition"},
        },
        "runs": {"root": f"~/siflab-test-{secrets.token_hex(3)}/runs", "warning": "0:15"},
    }
    return {**data, **changes}


class Person:
    """`user` with `site.yaml`; the notebooks and runs of a test lie in one folder of the home, removed by `leave`."""

    def __init__(self, user: str, site_data: dict[str, Any]) -> None:
        self.user, self.home = user, Path(pwd.getpwnam(user).pw_dir)
        self.root = Path(str(self.home) + site_data["runs"]["root"].removeprefix("~"))
        self.folder = self.root.parent
        self.shared = Path(tempfile.mkdtemp(prefix="siflab-test-", dir="/var/tmp"))
        self.shared.chmod(0o755)
        shutil.copytree(REPOSITORY / "siflab", self.shared / "siflab", ignore=shutil.ignore_patterns("__pycache__"))
        self.site_file = self.shared / "site.yaml"
        self.site_file.write_text(yaml.safe_dump(site_data, sort_keys=False), "utf-8")
        self.run_as(["mkdir", "-p", str(self.folder)])

    def leave(self) -> None:
        for run in self.runs_json():
            if run["state"] not in ENDED and run["job_id"]:
                subprocess.run(["scancel", run["job_id"]], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.shared, ignore_errors=True)

    def run_as(self, argv: list[str], **environment: str) -> "subprocess.CompletedProcess[str]":
        """A command with the short environment of a login."""
        return subprocess.run(self.as_user(argv, **environment), capture_output=True, text=True, cwd="/", timeout=300)

    def as_user(self, argv: list[str], **environment: str) -> list[str]:
        own = {
            "HOME": str(self.home),
            "USER": self.user,
            "LANG": "C.UTF-8",
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(self.shared),
            "SIFLAB_SITE": str(self.site_file),
            "SLURM_CONF": os.environ["SLURM_CONF"],
            **environment,
        }
        switch = ["setpriv", "--reuid", self.user, "--regid", self.user, "--init-groups"]
        return [*switch, "env", "-i", *(f"{name}={value}" for name, value in own.items()), *argv]

    def siflab(self, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return self.run_as([PYTHON_OF_USERS, "-m", "siflab.cli", *arguments], **environment)

    def promote(self, notebook: Path | str, *arguments: str) -> dict[str, Any]:
        done = self.siflab("promote", str(notebook), "--json", *arguments)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def show(self, run_id: str) -> dict[str, Any]:
        done = self.siflab("show", run_id, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def runs_json(self) -> list[dict[str, Any]]:
        return json.loads(self.siflab("runs", "--json").stdout or '{"runs": []}')["runs"]

    def notebook(self, name: str, *cells: str | tuple[str, str], metadata: dict[str, Any] | None = None) -> Path:
        """A notebook with these code cells (or cell and tag), owned by the user."""
        document = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": metadata or {"kernelspec": {"name": "python3", "display_name": "Python", "language": "python"}},
            "cells": [
                {
                    "cell_type": "code",
                    "id": f"cell-{index}",
                    "metadata": {} if isinstance(source, str) else {"tags": [source[1]]},
                    "source": source if isinstance(source, str) else source[0],
                    "outputs": [],
                    "execution_count": None,
                }
                for index, source in enumerate(cells)
            ],
        }
        return self.file(name, json.dumps(document, ensure_ascii=False).encode())

    def file(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.write_bytes(content)
        entry = pwd.getpwnam(self.user)
        os.chown(path, entry.pw_uid, entry.pw_gid)
        return path

    def await_run(self, run_id: str, is_so: Callable[[dict[str, Any]], bool], seconds: float = 120) -> dict[str, Any]:
        """The run as soon as `is_so` of it."""
        end = time.monotonic() + seconds
        while True:
            run = self.show(run_id)
            if is_so(run):
                return run
            assert time.monotonic() < end, f"waited {seconds} s in vain: {run}\n{self.siflab('logs', run_id).stdout}"
            time.sleep(0.5)

    def await_end(self, run_id: str, seconds: float = 180) -> dict[str, Any]:
        return self.await_run(run_id, lambda run: run["state"] in ENDED, seconds)

    def await_output(self, run_id: str, text: str, seconds: float = 120) -> None:
        """The log has `text`: the notebook has come so far."""
        end = time.monotonic() + seconds
        while text not in (log := self.siflab("logs", run_id).stdout):
            assert time.monotonic() < end, f"waited {seconds} s in vain for {text!r}: {self.show(run_id)}\n{log}"
            time.sleep(0.5)

    def output(self, run: dict[str, Any]) -> dict[str, Any]:
        """The executed notebook, which must be whole at every instant."""
        return json.loads(Path(run["output"]).read_bytes())

    def made(self) -> list[str]:
        """All that lies in the folder of runs, hidden files too."""
        return sorted(path.name for path in self.root.iterdir()) if self.root.exists() else []

    def jobs(self) -> set[str]:
        """Ids of this user's jobs, also those that just ended."""
        argv = ["squeue", "--noheader", "--states=all", "--user", self.user, "--format=%A"]
        return set(subprocess.run(argv, check=True, capture_output=True, text=True).stdout.split())


def texts(notebook: dict[str, Any], cell: int) -> str:
    """What a cell printed and showed, as text."""
    parts = []
    for output in notebook["cells"][cell]["outputs"]:
        text = output.get("text") or output.get("data", {}).get("text/plain") or ""
        parts.append("".join(text))
    return "".join(parts)
