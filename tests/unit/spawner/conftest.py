"""What the tests of the Hub side share: a site, and a Slurm that answers from a table."""

import logging

import pytest

from siflab.config import parse_site
from siflab.slurm.execute import Completed, PosixUser
from siflab.slurm.records import OWN_QUEUE_FIELDS, QUEUE_FIELDS, SEPARATOR
from siflab_spawner.watch.pace import Pace
from siflab_spawner.watch.watcher import Watcher

SITE = {
    "name": "here",
    "title": "Here",
    "singularity": {"binds": ["/home:/workspace", "/dataset:/datasets:ro"]},
    "images": {
        "torch": {"path": "/images/torch.sif", "title": {"en": "PyTorch", "zh": "火炬"}, "python": "/opt/python3"},
        "other": {"path": "/images/other.sif", "title": "Other <b>"},
    },
    "profiles": {
        "one": {
            "title": {"en": "One GPU", "zh": "单 GPU"},
            "description": "<script>alert(1)</script>",
            "image": "torch",
            "partition": "gpu",
            "gpus": 1,
            "gpu_type": "a100",
            "cpus": 4,
            "memory": "4G",
            "time": "2:00:00",
            "allow": {"gpus": {"max": 4}, "cpus": [2, 4, 8], "memory": "16G", "time": "8:00:00", "image": ["other"]},
        },
        "cpu": {"title": "CPU", "image": "torch", "partition": "cpu", "memory": "1G", "time": "1:00:00"},
        "staff": {"title": "Staff", "image": "torch", "partition": "cpu", "memory": "1G", "time": "1:00:00", "groups": ["staff"]},
        "batch": {"title": "Batch", "image": "torch", "partition": "cpu", "memory": "1G", "time": "1:00:00", "for_sessions": False},
    },
}  # fmt: skip


@pytest.fixture
def site():
    return parse_site(SITE)


class FakeSlurm:
    """Answers a command by its name: a Completed, a list of them (the last one stays), or a function of the argv."""

    cluster = None

    def __init__(self, **answers):
        self.answers, self.calls = answers, []

    async def arun(self, argv, *, user=None, stdin=None, cwd=None, timeout=None):
        self.calls.append((list(argv), user, stdin))
        answer = self.answers[argv[0]]
        if isinstance(answer, list):
            answer = answer.pop(0) if len(answer) > 1 else answer[0]
        return answer(argv) if callable(answer) else answer

    def named(self, name):
        return [argv for argv, _, _ in self.calls if argv[0] == name]


def said(stdout="", stderr="", code=0, name="squeue"):
    return Completed((name,), code, stdout, stderr)


def row(
    job,
    state="RUNNING",
    user="user1",
    reason="None",
    node="gpu01",
    comment=None,
    start="2026-12-01T10:00:00",
    uid=1001,
    submitted="2026-12-01T09:00:00",
):
    """A line of squeue: with a comment as `squeue --user` prints it, else without."""
    fields = [job, job, "N/A", user, state, reason, node, start, "2026-12-01T12:00:00", submitted,
              "1:00:00", "gpu", "2:00:00", "gres/gpu:1"]  # fmt: skip
    fields += [str(uid)] if comment is None else ["siflab-session", comment]
    assert len(fields) in (len(QUEUE_FIELDS), len(OWN_QUEUE_FIELDS))
    return SEPARATOR.join(fields) + "\n"


LOG = logging.getLogger("test")
STEADY = Pace(jitter=lambda: 0.0)
USERS = {
    name: PosixUser(name, 1000 + number, 1000 + number, (), f"/home/{name}", "/bin/sh")
    for number, name in enumerate((f"user{n}" for n in range(1, 41)), 1)
}


async def _sees_all(slurm):
    return True


@pytest.fixture(autouse=True)
def _nothing_is_hidden(monkeypatch):
    """As for a Hub that runs as root, whoever runs these tests."""
    monkeypatch.setattr("siflab_spawner.watch.watcher.sees_all_jobs", _sees_all)


async def find(name):
    return USERS[name]


class Clock:
    """Seconds, as a test says."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def watched(slurm, *jobs, pace=STEADY, clock=None):
    """A watcher that follows `jobs` without its loop: a test looks when it wants to."""
    watcher = Watcher(slurm, LOG, pace, clock or Clock(), find=find)
    rings = []
    watcher._run, watcher.is_root = rest, True
    for job in jobs:
        watcher.follow(job, lambda job=job: rings.append(job), starting=True)
    return watcher, rings


async def rest():
    return None
