"""The spawn page's form: what it offers, what it remembers, and that nothing gets out of its quotes."""

import html.parser

import pytest

from siflab.errors import FieldError
from siflab.text import Text
from siflab_spawner.page.form import render_form
from siflab_spawner.page.options import read_form, resources_of


class Fields(html.parser.HTMLParser):
    """The form's controls: (tag, attributes); and which tags there are at all."""

    def __init__(self, text):
        super().__init__()
        self.controls, self.tags, self.labels, self.ids, self.scripts = [], set(), set(), set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        attributes = dict(attrs)
        self.ids.add(attributes.get("id"))
        if tag in ("input", "select", "option"):
            self.controls.append((tag, attributes))
        if tag == "script":
            self.scripts.append((attributes.get("src") or "inline").partition("?")[0])
        if tag == "label":
            self.labels.add(attributes["for"])

    def named(self, name):
        return [attributes for _, attributes in self.controls if attributes.get("name") == name]

    def options(self, name):
        """Of a list: {value: possible}."""
        found, inside = {}, False
        for tag, attributes in self.controls:
            if tag != "option":
                inside = tag == "select" and attributes.get("name") == name
            elif inside:
                found[attributes["value"]] = "disabled" not in attributes
        return found

    def value(self, name):
        """What the form would send: of a list the option that is selected."""
        inside = False
        for tag, attributes in self.controls:
            if tag != "option":
                inside = attributes.get("name") == name
                if inside and tag == "input":
                    return attributes["value"]
            elif inside and "selected" in attributes:
                return attributes["value"]
        return None

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
    described = {a["aria-describedby"] for _, a in fields.controls if a.get("aria-describedby")}
    assert {one for ids in described for one in ids.split()} <= fields.ids


def test_the_form_as_it_comes_is_accepted(site):
    fields = Fields(render_form(site, "en", []))
    names = {a["name"] for _, a in fields.controls if a.get("name", "profile") != "profile"}
    sent = {name: [fields.value(name)] for name in names}
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
    assert page.count("<script") == 1 and "&lt;script&gt;alert" in page
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
    assert "img" not in fields.tags and fields.scripts == ["/hub/siflab/static/spawn.js"]
    assert len(fields.chosen()) == 1


def test_the_last_choice_is_remembered(site):
    fields = Fields(render_form(site, "en", [], {"profile": "one", "gpus": "3", "time": "4:00:00", "image": "other"}))
    assert fields.value("one.gpus") == "3" and fields.value("one.time") == "4:00:00"
    chosen = {a["value"] for tag, a in fields.controls if tag == "option" and "selected" in a}
    assert "other" in chosen and "torch" not in chosen
    assert Fields(render_form(site, "en", [], {"profile": "cpu"})).chosen() == ["cpu"]


def test_an_error_stands_at_its_field(site):
    error = FieldError("time", "time-over-limit", Text("9:00:00 is <too> much", "9:00:00 太长"))
    page = render_form(site, "en", [], {"profile": "one", "time": "9:00:00"}, [error])
    (field,) = Fields(page).named("one.time")
    assert field["aria-invalid"] == "true" and field["value"] == "9:00:00"
    assert f'id="{field["aria-describedby"].split()[-1]}">9:00:00 is &lt;too&gt; much<' in page


def test_a_notice_and_an_empty_site_are_said(site):
    assert "job 7 &lt;ended&gt;" in render_form(site, "en", [], notice=Text("job 7 <ended>", "x"))
    nobody = site.model_copy(update={"profiles": {"staff": site.profiles["staff"]}})
    assert "Ask your administrator" in render_form(nobody, "en", [])


def text(en, zh="中文"):
    return {"en": en, "zh": zh}


def choice(value, possible=True, why=None, free=None, total=None):
    return {
        "value": value,
        "words": text(value),
        "possible": possible,
        "why": why and text(why),
        "free": free,
        "total": total,
    }


GPU = {"type": "a100", "kind": "gpu", "total": 8, "free": 2, "down": 1}
NODE = {
    "name": "gpu01", "state": "mixed", "words": text("partly in use", "部分占用"), "cpus_total": 64, "cpus_free": 60,
    "memory_mib_total": 102400, "memory_mib_free": 51300, "gpus": [GPU],
}  # fmt: skip
OFFER = {
    "taken_at": "2026-12-01T14:02:10+00:00", "age_seconds": 3, "stale": False, "message": None,
    "partitions": [
        {"name": "gpu", "state": "up", "max_time_seconds": 28800, "nodes_total": 2, "nodes_up": 2, "nodes_idle": 1,
         "cpus_total": 64, "cpus_free": 60, "gpus": [GPU, {**GPU, "type": "1g.10gb", "kind": "mig", "down": 0}],
         "nodes": [NODE], "nodes_left_out": 7},
        {"name": "cpu", "state": "down", "max_time_seconds": None, "nodes_total": 1, "nodes_up": 0, "nodes_idle": 0,
         "cpus_total": 32, "cpus_free": 0, "gpus": [], "nodes": [], "nodes_left_out": 0},
    ],
    "profiles": {
        "one": {"possible": True, "why": None, "free_now": True, "gpus_free": 2, "gpus_total": 8, "fields": {
            "gpus": {"min": 0, "max": 2, "choices": [1, 2], "preset": 1, "why": text("the limit of QOS <normal>")},
            "cpus": {"min": 1, "max": 64, "choices": [], "preset": 4, "why": None},
            "memory": {"max_mib": 8192, "preset_mib": 4096, "why": None},
            "time": {"max_seconds": 14400, "preset_seconds": 7200, "why": text("the partition's limit")},
            "image": {"preset": "torch", "choices": [choice("torch"), choice("other", False, "not for this GPU")]},
        }},
        "cpu": {"possible": False, "why": text("partition cpu is down", "分区 cpu 已停用"), "free_now": False,
                "gpus_free": None, "gpus_total": None, "fields": {}},
    },
}  # fmt: skip


def test_what_is_free_is_said_in_words(site):
    page = render_form(site, "en", [], offer=OFFER)
    assert "2 of 8 A100 free now · partition gpu is up" in page
    assert "2 of 8 1g.10gb (MIG slice) free now" in page and "(1 down)" in page
    assert "A100: 2 of 8<" in page and "50G of 100G<" in page and "and 7 more nodes" in page
    assert "As Slurm said at" in page
    chinese = render_form(site, "zh", [], offer=OFFER)
    assert "A100：共 8，现空闲 2" in chinese and "部分占用" in chinese and "分区 cpu 已停用" in chinese


def test_a_word_of_caution_stands_on_its_card(site):
    one = {**OFFER["profiles"]["one"], "note": text("GPUs are <not> kept apart", "GPU 未隔离")}
    offer = {**OFFER, "profiles": {**OFFER["profiles"], "one": one}}
    page = render_form(site, "en", [], offer=offer)
    assert page.count("GPUs are &lt;not&gt; kept apart") == 1
    assert "GPU 未隔离" in render_form(site, "zh", [], offer=offer)
    assert '-note">' not in render_form(site, "en", [], offer=OFFER).replace("aria-describedby", "")


def test_an_old_answer_of_slurm_is_called_old(site):
    stale = {**OFFER, "stale": True, "message": text("munge <does> not answer")}
    page = render_form(site, "en", [], offer=stale)
    assert "does not answer at present; these figures are of" in page and "munge &lt;does&gt; not answer" in page


def test_an_impossible_choice_cannot_be_made(site):
    page = render_form(site, "en", [], offer=OFFER)
    fields = Fields(page)
    assert fields.options("one.gpus") == {"0": False, "1": True, "2": True, "3": False, "4": False}
    assert fields.options("one.image") == {"torch": True, "other": False}
    assert "not possible: not for this GPU" in page and "up to 2 (the limit of QOS &lt;normal&gt;)" in page
    assert "up to 4:00:00 (the partition&#39;s limit)" in page and "up to 8G" in page
    assert ["disabled" in a for a in fields.named("profile")] == [False, True]
    assert "not possible: partition cpu is down" in page


def test_what_was_chosen_stays_chosen_even_when_it_is_not_possible_now(site):
    fields = Fields(render_form(site, "en", [], {"profile": "cpu"}, offer=OFFER))
    assert fields.chosen() == ["cpu"] and "disabled" not in fields.named("profile")[1]
    page = render_form(site, "en", [], {"profile": "one", "gpus": "4"}, offer=OFFER)
    (gpus,) = Fields(page).named("one.gpus")
    assert Fields(page).value("one.gpus") == "1" and gpus["aria-invalid"] == "true"
    assert "4 cannot be chosen now; look at what is chosen instead" in page


def test_a_preset_that_is_not_possible_is_lowered(site):
    least = {
        **OFFER["profiles"]["one"]["fields"],
        "gpus": {"min": 0, "max": 0, "choices": [], "preset": 1, "why": text("no")},
    }
    offer = {**OFFER, "profiles": {"one": {**OFFER["profiles"]["one"], "fields": least}}}
    assert Fields(render_form(site, "en", [], offer=offer)).value("one.gpus") == "0"


def test_names_of_slurm_are_lists_of_what_may_be_used(site):
    allow = {"partition": ("gpu2",), "account": "any", "qos": "any", "reservation": ("class",)}
    profile = site.profiles["one"].model_copy(update={"allow": site.profiles["one"].allow.model_copy(update=allow)})
    wide = site.model_copy(update={"profiles": {"one": profile}})
    plain = Fields(render_form(wide, "en", []))
    assert plain.options("one.partition") == {"gpu": True, "gpu2": True}
    assert plain.options("one.reservation") == {"": True, "class": True}
    assert plain.options("one.account") == {"": True}, "without Slurm's word nothing can be listed"
    assert "disabled" in plain.named("one.account")[0], "and what is hidden is not sent: the usual one is taken"

    offered = {**OFFER["profiles"]["one"]["fields"], "account": {"preset": "", "choices": [choice(""), choice("lab")]},
               "qos": {"preset": "", "choices": [choice("")]},
               "partition": {"preset": "gpu", "choices": [choice("gpu", free=2, total=8), choice("gpu2", False, "down")]}}  # fmt: skip
    offer = {**OFFER, "profiles": {"one": {**OFFER["profiles"]["one"], "fields": offered}}}
    page = render_form(wide, "en", [], {"profile": "one", "account": "lab"}, offer=offer)
    fields = Fields(page)
    assert fields.options("one.account") == {"": True, "lab": True} and fields.value("one.account") == "lab"
    assert "disabled" in fields.named("one.qos")[0], "there is nothing to choose"
    assert "disabled" not in fields.named("one.account")[0]
    assert fields.options("one.partition") == {"gpu": True, "gpu2": False} and "gpu — 2 of 8 free" in page


def test_a_message_about_no_field_is_shown_too(site):
    error = FieldError("profile", "unknown-profile", Text("there is no <b>", "没有"))
    assert "there is no &lt;b&gt;" in render_form(site, "en", [], {"profile": "x"}, [error])
