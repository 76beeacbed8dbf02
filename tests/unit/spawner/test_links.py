"""Links to a ready choice: they fill in the form, whatever JupyterHub would do with them, and start nothing."""

from types import SimpleNamespace

import pytest
from jupyterhub.handlers.pages import SpawnHandler
from tornado import web

from siflab_spawner.page.links import from_query, link_options, take

LINKS = [
    ({"profile": ["one"], "gpus": ["2"]}, {"profile": "one", "gpus": "2"}),
    ({"opt-profile": ["one"], "opt-gpus": ["2"]}, {"profile": "one", "gpus": "2"}),
    ({"opt-profile": ["one"], "gpus": ["2"]}, {"profile": "one"}),
    ({"profile": ["one"], "one.time": ["1:00:00"], "cpu.time": ["9:00:00"]}, {"profile": "one", "time": "1:00:00"}),
    ({"next": ["/hub/home"], "display_name": ["x"]}, {}),
    ({"_xsrf": ["secret"], "profile": ["one"]}, {"profile": "one"}),
    ({"profile": ["one"], "cmd": ["sh"], "batch_script": ["x"]}, {"profile": "one"}),
    ({"opt-": ["x"]}, {}),
    ({"profile": ['"><script>']}, {"profile": '"><script>'}),
    ({}, {}),
]


@pytest.mark.parametrize(("query", "options"), LINKS)
def test_what_a_link_says(query, options):
    assert link_options(query) == options


def handler(kind=SpawnHandler, method="GET", **query):
    made = kind.__new__(kind)
    made.request = SimpleNamespace(method=method, query_arguments={name: [value] for name, value in query.items()})
    return made


def spawner(handler, drop_in=None):
    return SimpleNamespace(handler=handler, drop_in=drop_in, user=SimpleNamespace(name="user1"))


def test_jupyterhub_finds_nothing_to_start_with():
    opened = handler(profile=b"one", gpus=b"\xff2", next=b"/hub/home", _xsrf=b"x")
    assert take(spawner(opened)) == {"profile": "one", "gpus": "\ufffd2"}
    assert opened.request.query_arguments == {"next": [b"/hub/home"]}


@pytest.mark.parametrize(
    "other", [None, handler(method="POST", profile=b"one"), handler(web.RequestHandler, profile=b"one")]
)
def test_other_requests_are_left_alone(other):
    assert take(spawner(other)) == {}
    if other is not None:
        assert other.request.query_arguments == {"profile": [b"one"]}


def test_were_jupyterhub_to_look_all_the_same_nothing_starts():
    with pytest.raises(web.HTTPError) as caught:
        from_query(spawner(None), {"profile": ["one"]})
    assert caught.value.status_code == 400 and "press Start" in caught.value.jupyterhub_message


def test_with_batchspawners_settings_all_is_as_it_was():
    opened = handler(partition=b"gpu")
    old = spawner(opened, drop_in=object())
    assert take(old) == {} and opened.request.query_arguments == {"partition": [b"gpu"]}
    assert from_query(old, {"partition": ["gpu"]}) == {"partition": "gpu"}
