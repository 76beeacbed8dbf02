"""The spawn page's form: what it offers, what it remembers, and that nothing gets out of its quotes."""

import html.parser

import pytest

from siflab.errors import FieldError
from siflab.text import Text
from siflab_spawner.form import render_form
from siflab_spawner.options import read_form, resources_of


class Fields(html.parser.HTMLParser):
    """The form's controls: (tag, attributes); and which tags there are at all."""

    def __init__(self, text):
        super().__init__()
        self.controls, self.tags, self.labels = [], set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attributes = dict(attrs)
        if tag in ("input", "select", "option"):
            self.controls.append((tag, attributes))
        if tag == "label":
            self.labels.add(attributes["for"])

    def named(self, name):
        return [attributes for _, attributes in self.controls if attributes.get("name") == name]

    def profiles(self):
        return [a["value"] for a in self.named("profile")]

    def chosen(self):
        return [a["value"] for a in self.named("profile") if "checked" in a]


@pytest.mark.parametrize(
    ("groups", "profiles"), [([], ["one", "cpu"]), (["staff"], ["one", "cpu", "staff"]), (["x"], ["one", "cpu"])]
)
def test_profiles_are_offered_by_group_in_the_order_of_the_file(site, groups, profiles):
    fields = Fields(render_form(site, "en", groups))
    assert fields.profiles() == profiles
    assert fields.chosen() == ["one"]


def test_only_what_may_vary_is_a_field(site):
    fields = Fields(render_form(site, "en", []))
    names = {a["name"] for _, a in fields.controls if a.get("name")}
    assert names == {"profile", "one.gpus", "one.cpus", "one.memory", "one.time", "one.image"}


def test_every_field_has_a_label(site):
    fields = Fields(render_form(site, "en", ["staff"]))
    assert {a["id"] for _, a in fields.controls if a.get("id")} == fields.labels


def test_the_form_as_it_comes_is_accepted(site):
    fields = Fields(render_form(site, "en", []))
    sent = {a["name"]: [a["value"]] for tag, a in fields.controls if tag == "input" and a["name"] != "profile"}
    options = read_form({**sent, "profile": fields.chosen()})
    resources = resources_of(site, options, [])
    assert (resources.profile, resources.gpus, resources.time_seconds) == ("one", 1, 7200)


@pytest.mark.parametrize(
    ("language", "words"), [("en", ["One GPU", "PyTorch", "up to 8:00:00"]), ("zh", ["单 GPU", "火炬", "最多 8:00:00"])]
)
def test_it_speaks_both_languages(site, language, words):
    page = render_form(site, language, [])
    assert all(word in page for word in words)


def test_nothing_of_the_site_is_markup(site):
    page = render_form(site, "en", [])
    assert "<script" not in page and "&lt;script&gt;" in page
    assert "Other &lt;b&gt;" in page


HOSTILE_LAST = [
    {"profile": "one", "time": '"><script>alert(1)</script>'},
    {"profile": "one", "gpus": "{{ 7*7 }}"},
    {"profile": '"><img src=x>'},
    {"profile": ["one"]},
    {"profile": {"a": 1}, "gpus": []},
    "no dictionary",
    None,
]


@pytest.mark.parametrize("last", HOSTILE_LAST)
def test_the_last_choice_is_shown_as_text_whatever_it_was(site, last):
    fields = Fields(render_form(site, "en", [], last))
    assert not fields.tags & {"script", "img"}
    assert len(fields.chosen()) == 1


def test_the_last_choice_is_remembered(site):
    fields = Fields(render_form(site, "en", [], {"profile": "one", "gpus": "3", "time": "4:00:00", "image": "other"}))
    assert fields.named("one.gpus")[0]["value"] == "3"
    assert fields.named("one.time")[0]["value"] == "4:00:00"
    chosen = {a["value"] for tag, a in fields.controls if tag == "option" and "selected" in a}
    assert "other" in chosen and "torch" not in chosen
    assert Fields(render_form(site, "en", [], {"profile": "cpu"})).chosen() == ["cpu"]


def test_an_error_stands_at_its_field(site):
    error = FieldError("time", "time-over-limit", Text("9:00:00 is <too> much", "9:00:00 太长"))
    page = render_form(site, "en", [], {"profile": "one", "time": "9:00:00"}, [error])
    (field,) = Fields(page).named("one.time")
    assert field["aria-invalid"] == "true" and field["value"] == "9:00:00"
    assert f'id="{field["aria-describedby"]}">9:00:00 is &lt;too&gt; much<' in page


def test_a_notice_and_an_empty_site_are_said(site):
    assert "job 7 &lt;ended&gt;" in render_form(site, "en", [], notice=Text("job 7 <ended>", "x"))
    nobody = site.model_copy(update={"profiles": {"staff": site.profiles["staff"]}})
    assert "Ask your administrator" in render_form(nobody, "en", [])
