"""One validation for form, links and REST API: what is taken, what is refused, and by which name."""

import pytest

from siflab.errors import Invalid
from siflab_spawner.page.options import bad_request, check_options, read_form, resources_of

FORMS = [
    ({"profile": ["one"], "one.gpus": ["2"], "cpu.time": ["9:00:00"]}, {"profile": "one", "gpus": "2"}),
    ({"profile": ["cpu"], "one.gpus": ["4"], "one.time": ["1:00:00"]}, {"profile": "cpu"}),
    ({"profile": ["one"], "gpus": ["3"], "_xsrf": ["x"]}, {"profile": "one", "gpus": "3"}),
    ({"profile": ["one"], "one.gpus": ["2"], "gpus": ["4"]}, {"profile": "one", "gpus": "2"}),
    ({"profile": ["one"], "one.time": ["  "], "one.memory": [" 8G "]}, {"profile": "one", "memory": "8G"}),
    ({"profile": ["one"], "one.partition": ["cpu"]}, {"profile": "one", "partition": "cpu"}),
    ({"profile": ["one"], "one.cmd": ["sh"]}, {"profile": "one"}),
    ({"profile": ["one"], "req_prologue": ["rm"]}, {"profile": "one", "req_prologue": "rm"}),
    ({}, {}),
]


@pytest.mark.parametrize(("form", "options"), FORMS)
def test_a_form_becomes_options(form, options):
    assert read_form(form) == options


HOSTILE = [
    (None, ""),
    ([], ""),
    ("profile", ""),
    ({"nodelist": "gpu01"}, "nodelist"),
    ({"profile": "one", "batch_script": "#!/bin/sh"}, "batch_script"),
    ({"profile": "one", "req_options": "--uid=0"}, "req_options"),
    ({"profile": "one", "cmd": ["sh"]}, "cmd"),
    ({"profile": ["one"]}, "profile"),
    ({"profile": {"a": 1}}, "profile"),
    ({"profile": "one", "gpus": True}, "gpus"),
    ({"profile": "one", "gpus": 1.5}, "gpus"),
    ({"profile": "one", "time": "1" * 300}, "time"),
    ({"profile": "one", "{cmd}": "x"}, "{cmd}"),
    ({"profile": "one", 7: "x"}, "7"),
]


@pytest.mark.parametrize(("options", "field"), HOSTILE)
def test_what_is_no_choice_is_refused(options, field):
    with pytest.raises(Invalid) as caught:
        check_options(options)
    assert [error.field for error in caught.value.errors] == [field]


def test_all_wrong_fields_are_named_at_once():
    with pytest.raises(Invalid) as caught:
        check_options({"a": 1, "profile": [], "gpus": None})
    assert sorted(error.field for error in caught.value.errors) == ["a", "profile"]


REFUSED = [
    ({"profile": "nothing"}, [], "profile"),
    ({"profile": "staff"}, [], "profile"),
    ({"profile": "staff"}, ["students"], "profile"),
    ({"profile": "batch"}, ["staff"], "profile"),
    ({"profile": "one", "gpus": 5}, [], "gpus"),
    ({"profile": "one", "gpus": "-1"}, [], "gpus"),
    ({"profile": "one", "gpus": "2; rm -rf /"}, [], "gpus"),
    ({"profile": "one", "cpus": 3}, [], "cpus"),
    ({"profile": "one", "nodes": 2}, [], "nodes"),
    ({"profile": "one", "memory": "17G"}, [], "memory"),
    ({"profile": "one", "memory": "lots"}, [], "memory"),
    ({"profile": "one", "time": "8:00:01"}, [], "time"),
    ({"profile": "one", "time": "0"}, [], "time"),
    ({"profile": "one", "image": "/images/own.sif"}, [], "image"),
    ({"profile": "cpu", "image": "other"}, [], "image"),
    ({"profile": "one", "partition": "cpu"}, [], "partition"),
    ({"profile": "one", "qos": "high"}, [], "qos"),
    ({"profile": "one", "reservation": "a,b"}, [], "reservation"),
    ({"profile": "cpu", "time": "1:00:01"}, [], "time"),
]


@pytest.mark.parametrize(("options", "groups", "field"), REFUSED)
def test_what_goes_beyond_the_profile_is_refused(site, options, groups, field):
    with pytest.raises(Invalid) as caught:
        resources_of(site, options, groups)
    assert [error.field for error in caught.value.errors] == [field]


def test_a_choice_becomes_resources(site):
    resources = resources_of(site, {"profile": "one", "gpus": "2", "time": "3:00:00", "image": "other"}, [])
    assert (resources.gpus, resources.time_seconds, resources.image_id) == (2, 10800, "other")
    assert resources_of(site, {"profile": "staff"}, ["staff"]).profile == "staff"


@pytest.mark.parametrize("nothing", [None, {}])
def test_without_a_choice_the_first_profile_is_taken(site, nothing):
    assert resources_of(site, nothing, []).profile == "one"


def test_the_answer_names_fields_in_the_language_of_the_page_or_in_both(site):
    with pytest.raises(Invalid) as caught:
        resources_of(site, {"profile": "one", "gpus": 5, "time": "9:00:00"}, [])
    rest = bad_request(caught.value, None)
    assert rest.status_code == 400
    assert "gpus: 5 is not possible" in rest.jupyterhub_message and "此配置不允许 5" in rest.jupyterhub_message
    assert "time: 9:00:00" in rest.jupyterhub_message
    assert "GPUs: 5 is not possible" in bad_request(caught.value, "en").jupyterhub_message
    assert "时间上限: 9:00:00 超过" in bad_request(caught.value, "zh").jupyterhub_message


def test_what_was_sent_is_escaped():
    with pytest.raises(Invalid) as caught:
        check_options({"<img src=x>": 1})
    page = bad_request(caught.value, "en")
    assert "<img" not in page.jupyterhub_html_message and "&lt;img" in page.jupyterhub_html_message
