"""What Prometheus is told: states, times, causes, Slurm's commands; never a name, and never registered twice."""

import asyncio
import importlib
from types import SimpleNamespace

import pytest
from prometheus_client import REGISTRY, generate_latest

from siflab.errors import Internal, Invalid, SlurmRefused, SlurmUnreachable
from siflab.slurm.execute import Completed, Slurm
from siflab.slurm.states import state_info
from siflab.text import Text
from siflab_spawner import metrics
from siflab_spawner.start.failure import StartFailed
from siflab_spawner.state import SessionState
from siflab_spawner.watch.watcher import Reading

WORDS = Text("words", "文字")


def value(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0.0


def spawner_of(kind="unknown", state=None, exit_code=0, told=None, pending=None, start=None, **session):
    outcome = SimpleNamespace(state=state_info(state), exit_code=exit_code) if state else None
    record = SimpleNamespace(start=SimpleNamespace(timestamp=lambda: start)) if start is not None else None
    reading = Reading(kind, record, outcome)
    return SimpleNamespace(
        session=SessionState(submit_id="s", **session),
        watcher=SimpleNamespace(reading=lambda job_id: reading),
        failure=None if told is None else SimpleNamespace(exit_code=told),
        owner=SimpleNamespace(pending=pending),
    )


STATES = [
    ({}, "preparing"),
    ({"job_id": "7", "kind": "pending"}, "queued"),
    ({"job_id": "7", "kind": "running"}, "booting"),
    ({"job_id": "7", "kind": "running", "claimed_at": 1.0}, "booting"),
    ({"job_id": "7", "kind": "running", "claimed_at": 1.0, "ready_at": 2.0}, "ready"),
    ({"job_id": "7", "kind": "unknown", "claimed_at": 1.0, "ready_at": 2.0}, "ready"),
    ({"job_id": "7", "kind": "unknown"}, "unknown"),
    ({"job_id": "7", "kind": "running", "ready_at": 2.0, "pending": "stop"}, "stopping"),
]


@pytest.mark.parametrize(("changes", "expected"), STATES)
def test_the_state_of_a_session(changes, expected):
    assert metrics.state_of(spawner_of(**changes)) == expected and expected in metrics.STATES


CAUSES = [
    (Invalid([]), {}, "options"),
    (SlurmRefused(WORDS), {}, "slurm_refused"),
    (SlurmUnreachable(WORDS), {}, "slurm_unreachable"),
    (Internal(WORDS), {}, "hub"),
    (StartFailed(WORDS), {}, "hub"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "running"}, "boot_limit"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "pending"}, "queue_limit"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "running", "told": 35}, "no_python"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "ended", "state": "FAILED", "exit_code": 33}, "no_image"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "ended", "state": "FAILED", "exit_code": 1}, "server_ended"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "ended", "state": "CANCELLED"}, "job_cancelled"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "ended", "state": "OUT_OF_MEMORY", "told": 46}, "job_out_of_memory"),
    (StartFailed(WORDS), {"job_id": "7", "kind": "ending"}, "other"),
]


@pytest.mark.parametrize(("error", "changes", "expected"), CAUSES)
def test_why_a_start_failed(error, changes, expected):
    before = value("siflab_session_start_failures_total", cause=expected)
    metrics.failed(spawner_of(**changes), error)
    assert value("siflab_session_start_failures_total", cause=expected) == before + 1


def test_times_of_a_start():
    before = value("siflab_session_queue_seconds_sum"), value("siflab_session_boot_seconds_sum")
    metrics.started(spawner_of("running", start=130.0, job_id="7", intended_at=100.0, ready_at=136.5))
    after = value("siflab_session_queue_seconds_sum"), value("siflab_session_boot_seconds_sum")
    assert (after[0] - before[0], after[1] - before[1]) == (30.0, 6.5)


def test_a_start_that_slurm_says_nothing_of_counts_nothing():
    before = value("siflab_session_queue_seconds_count")
    metrics.started(spawner_of(job_id="7", intended_at=100.0, ready_at=136.5))
    assert value("siflab_session_queue_seconds_count") == before


COMMANDS = [
    (Completed(("squeue",), 0, "", ""), "squeue", "ok"),
    (Completed(("/opt/slurm/bin/scontrol", "x"), 1, "", "Invalid job id"), "scontrol", "refused"),
    (Completed(("squeue",), 1, "", "Unable to contact slurm controller"), "squeue", "no_answer"),
    (Completed(("sacct",), 124, "", ""), "sacct", "timeout"),
    (Completed(("/usr/bin/python3", "-c", "secret of user1"), 0, "", ""), "other", "ok"),
]


@pytest.mark.parametrize(("done", "command", "result"), COMMANDS)
def test_commands_of_slurm(done, command, result):
    before = value("siflab_slurm_commands_total", command=command, result=result)
    metrics.count_command(done, 0.02)
    assert value("siflab_slurm_commands_total", command=command, result=result) == before + 1
    assert b"secret" not in generate_latest() and b"user1" not in generate_latest()


def test_what_the_hub_runs_is_counted():
    metrics.register()
    before = value("siflab_slurm_command_seconds_count", command="other")
    asyncio.run(Slurm().arun(["true"]))
    assert value("siflab_slurm_command_seconds_count", command="other") == before + 1


def test_loaded_again_nothing_is_there_twice():
    before = value("siflab_sessions_adopted_total")
    again = importlib.reload(metrics)
    again.register()
    again.ADOPTED.inc()
    asyncio.run(Slurm().arun(["true"]))
    text = generate_latest().decode()
    assert value("siflab_sessions_adopted_total") == before + 1
    assert text.count("# TYPE siflab_sessions gauge") == 1 and text.count("# TYPE siflab_sessions_adopted_total ") == 1
    for state in metrics.STATES:
        assert f'siflab_sessions{{state="{state}"}} 0.0' in text, "also where there is none"


def test_the_age_of_an_answer_is_there_while_sessions_are_followed(monkeypatch):
    followed = SimpleNamespace(failed={"garbage": 2}, sessions=lambda: {"running": 1}, age=lambda: 12.0)
    other = SimpleNamespace(failed={"garbage": 1}, sessions=lambda: {}, age=lambda: 900.0)
    monkeypatch.setattr(metrics, "all_watchers", lambda: [followed, other])
    found = {family.name: family.samples for family in metrics.FromHub().collect()}
    assert [sample.value for sample in found["siflab_slurm_answer_age_seconds"]] == [12.0]
    assert [sample.value for sample in found["siflab_slurm_unusable_answers"]] == [3]
    monkeypatch.setattr(metrics, "all_watchers", lambda: [other])
    found = {family.name: family.samples for family in metrics.FromHub().collect()}
    assert found["siflab_slurm_answer_age_seconds"] == []
