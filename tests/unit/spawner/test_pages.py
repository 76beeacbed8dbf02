"""The Hub's pages around a start, made by JupyterHub's own templates with ours before them."""

import asyncio
import functools
from types import SimpleNamespace

import pytest
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PrefixLoader
from jupyterhub._data import DATA_FILES_PATH
from tornado import web

from siflab.slurm.records import parse_squeue
from siflab.text import Text
from siflab_spawner import language
from siflab_spawner.notices import drop_notice, leave_notice
from siflab_spawner.page.page_view import page_view
from siflab_spawner.page.page_words import WORDS
from siflab_spawner.page.pages import TEMPLATES
from siflab_spawner.page.progress import progress_events
from siflab_spawner.start.failure import StartFailed, for_hub
from siflab_spawner.state import SessionState
from siflab_spawner.watch.bell import Bell
from siflab_spawner.watch.watcher import Reading

from .conftest import row

OTHERS = SimpleNamespace(name="")  # a spawner of another class


class Handler:
    """As much of a request as the pages look at."""

    def __init__(self, accept, user):
        self.request = SimpleNamespace(headers={"Accept-Language": accept} if accept else {})
        self.current_user = user

    def static_url(self, path, include_version=True):
        return f"/hub/static/{path}"


class Page:
    """A page for `spawner`, as JupyterHub makes it."""

    def __init__(self, name, spawner, accept="en", **context):
        base = FileSystemLoader([f"{DATA_FILES_PATH}/templates"])
        loader = ChoiceLoader([PrefixLoader({"templates": base}), FileSystemLoader([TEMPLATES]), base])
        user = SimpleNamespace(
            name="user1", escaped_name="user1", json_escaped_name="user1", spawner=spawner, spawners={"": spawner}
        )
        known = {"user": user, "base_url": "/hub/", "spawner": spawner, "server_name": "", "spawn_url": "/hub/spawn/user1",
                 "progress_url": "/hub/api/users/user1/server/progress?_xsrf=x", "static_url": Handler(accept, user).static_url}  # fmt: skip
        self.text = Environment(loader=loader, autoescape=True).get_template(name).render(**known, **context)


@pytest.fixture
def session():
    """A session that waits in the queue for a reason that somebody made up."""
    record = parse_squeue(row("7", "PENDING", reason="<b>New", start="2026-12-01T10:00:00"))[0]
    spawner = SimpleNamespace(
        name="", hub=SimpleNamespace(base_url="/hub/"), bell=Bell(), user=SimpleNamespace(name="user1"),
        session=SessionState(submit_id="a", job_id="7", intended_at=1.0),
        watcher=SimpleNamespace(failures=0, reading=lambda job: Reading("pending", record)),
    )  # fmt: skip
    spawner.page = functools.partial(page_view, spawner)
    yield spawner
    drop_notice("user1", "")
    language._LAST.pop("user1", None)


def test_a_start_that_waits(session):
    page = Page("spawn_pending.html", session).text
    assert "Your session waits in the queue" in page and "Stop Server" in page and "Notify me when ready" in page
    assert "<b>New" not in page and "&lt;b&gt;New" in page
    assert "/hub/siflab/static/pending.js?v=" in page and page.count("new EventSource") == 0
    assert '<meta http-equiv="refresh" content="5">' in page, "it goes on without JavaScript, too"


def test_the_pages_speak_the_language_of_who_looks_and_remember_it(session):
    assert "会话正在排队" in Page("spawn_pending.html", session, "zh-CN,en;q=0.5").text
    assert "会话正在排队" in Page("spawn_pending.html", session, "").text
    assert "Your session waits" in Page("spawn_pending.html", session, "en").text
    assert all(text.en and text.zh and text.en != text.zh for text in WORDS.values())


def test_a_start_that_failed_shows_the_reason_and_the_log_as_text(session):
    error = for_hub(StartFailed(Text("it <ended>", "它<结束>了"), "line\n<script>alert(1)</script>"), "en")
    context = {"failed": True, "exception": error, "failed_html_message": error.jupyterhub_html_message}
    page = Page("not_running.html", session, "zh", **context).text
    assert (
        "会话未能启动" in page
        and "它&lt;结束&gt;了" in page
        and "&lt;script&gt;alert(1)" in page
        and "<script>alert" not in page
    )
    assert 'href="/hub/spawn/user1"' in page and "重新启动" in page


def test_a_failure_that_is_not_ours_keeps_its_words(session):
    context = {"failed": True, "exception": web.HTTPError(500, "x"), "failed_message": "the <proxy> is away"}
    assert "the &lt;proxy&gt; is away" in Page("not_running.html", session, **context).text


def test_a_session_that_was_ended_says_why(session):
    leave_notice("user1", "", Text("Job 7 ended: <time>", "作业 7 结束"))
    assert "Job 7 ended: &lt;time&gt;" in Page("not_running.html", session).text


def test_the_spawn_page_and_the_stop_page(session):
    page = Page("spawn.html", session, "zh", for_user=SimpleNamespace(name="user1"), url="/hub/spawn?a=1&b=2",
                error_message="<wrong>", spawner_options_form="<p>form</p>").text  # fmt: skip
    assert "启动会话" in page and "<p>form</p>" in page and 'action="/hub/spawn?a=1&amp;b=2"' in page
    assert "错误： &lt;wrong&gt;" in page
    assert "会话正在停止" in Page("stop_pending.html", session, "zh").text


@pytest.mark.parametrize(
    ("name", "words"),
    [("spawn.html", "Server Options"), ("spawn_pending.html", "new EventSource"), ("not_running.html", "Would you like to start it?"),
     ("stop_pending.html", "Your server is stopping")],
)  # fmt: skip
def test_the_session_of_another_spawner_has_jupyterhubs_own_page(name, words):
    page = Page(name, OTHERS, for_user=SimpleNamespace(name="user1"), url="/", spawner_options_form="").text
    assert words in page and "siflab" not in page


def test_without_our_page_the_messages_say_it_and_a_sign_of_life_says_nothing(session, monkeypatch):
    monkeypatch.setattr("siflab_spawner.page.progress.SIGN_OF_LIFE", 0.0)

    async def first_three():
        events = progress_events(session)
        return [await anext(events) for _ in range(3)]

    events = asyncio.run(first_three())
    assert "Job 7 waits in the queue" in events[0]["message"] and [("message" in event) for event in events] == [
        True,
        False,
        False,
    ]
    assert events[2]["siflab"]["phase"] == "waiting" and events[2]["siflab"]["start_at"].startswith(
        "2026-12-01T10:00:00"
    )
