"""What people are told: while they wait, and when a start fails."""

from datetime import datetime, timedelta
from types import SimpleNamespace

import pytest

from siflab.errors import SlurmUnreachable
from siflab.slurm.records import parse_squeue
from siflab.text import Text
from siflab_spawner import language
from siflab_spawner.page.progress import describe, waiting
from siflab_spawner.start.failure import StartFailed, for_hub, last_lines
from siflab_spawner.state import SessionState
from siflab_spawner.watch.watcher import Reading

from .conftest import row

NOW = datetime.now().astimezone().replace(hour=12, minute=30)


def spawner(state, squeue="", failures=0):
    record = parse_squeue(squeue)[0] if squeue else None
    reading = Reading(record.state.kind, record) if record else Reading()
    return SimpleNamespace(session=state, watcher=SimpleNamespace(failures=failures, reading=lambda job: reading))


STARTS = [
    (SessionState(submit_id="a"), "", 0, "handing the job to Slurm"),
    (SessionState(submit_id="a", job_id="1"), "", 0, "Slurm has the job: job 1"),
    (SessionState(submit_id="a", job_id="1"), row("1", "PENDING", reason="Resources", start="N/A"), 0, "waits in the queue: Resources — "),
    (SessionState(submit_id="a", job_id="1"), row("1", "PENDING", reason="Resources"), 3, "Slurm does not answer"),
    (SessionState(submit_id="a", job_id="1"), row("1"), 0, "Job 1 starts on gpu01. The container is starting"),
    (SessionState(submit_id="a", job_id="1", claimed_at=1.0), row("1"), 0, "JupyterLab is starting"),
    (SessionState(submit_id="a", job_id="1", ready_at=1.0), row("1"), 0, "JupyterLab answers"),
    (SessionState(submit_id="a", job_id="1"), row("1", "COMPLETING"), 0, "Job 1 is ending"),
]  # fmt: skip


@pytest.mark.parametrize(("state", "squeue", "failures", "words"), STARTS)
def test_progress_says_what_is_going_on(state, squeue, failures, words):
    percent, text = describe(spawner(state, squeue, failures))
    assert words in text.en and text.zh != text.en and 0 <= percent < 100


def test_progress_never_goes_back():
    percents = [describe(spawner(*case[:3]))[0] for case in STARTS if case[2] == 0][:-1]
    assert percents == sorted(percents)


WAITING = [
    ("None", None, "Job 7 waits in the queue: Slurm has not looked at it yet."),
    ("Priority", NOW, "Job 7 waits in the queue: Priority — other jobs with a higher priority go first. Expected to start about 12:30."),
    ("(Resources)", NOW + timedelta(days=2), f"about {(NOW + timedelta(days=2)).strftime('%Y-%m-%d')} 12:30."),
    ("QOSMaxGRESPerUser", None, "QOSMaxGRESPerUser — the limit of its QOS on GPUs"),
    ("ReqNodeNotAvail, UnavailableNodes:gpu02", None, "ReqNodeNotAvail — a node that it needs is down"),
    ("NewReason<b>", None, "Slurm says: NewReason<b>"),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "start", "words"), WAITING)
def test_why_it_waits_and_until_when(reason, start, words):
    text = waiting("7", reason, start)
    assert words in text.en and "作业 7 正在排队" in text.zh


def test_a_failure_shows_the_log_as_text():
    log = "fine\x1b[31m\x00\n<script>alert(1)</script>\n" * 40
    error = for_hub(StartFailed(Text("it <ended>", "它结束了"), log), "en")
    assert error.status_code == 500
    assert "<script>" not in error.jupyterhub_html_message and "&lt;script&gt;" in error.jupyterhub_html_message
    assert "it &lt;ended&gt;" in error.jupyterhub_html_message
    assert "\x1b" not in error.jupyterhub_message and "\x00" not in error.jupyterhub_message
    assert len(last_lines(log).splitlines()) == 40


def test_a_failure_without_a_log_is_its_reason():
    error = for_hub(SlurmUnreachable(Text("Slurm is away", "Slurm 不可用")), None)
    assert (error.status_code, error.jupyterhub_message) == (503, "Slurm is away / Slurm 不可用")


@pytest.mark.parametrize(("header", "tongue"), [("zh-CN,zh;q=0.9,en;q=0.8", "zh"), ("de,en;q=0.5", "en")])
def test_the_language_of_the_last_page_is_remembered(header, tongue):
    page = SimpleNamespace(request=SimpleNamespace(headers={"Accept-Language": header}))
    language.remember("user1", page)
    language.remember("user1", None)
    language.remember("user1", SimpleNamespace(request=SimpleNamespace(headers={})))
    assert language.language_of("user1") == tongue
    assert language.in_words(Text("yes", "是"), tongue) == {"en": "yes", "zh": "是"}[tongue]
