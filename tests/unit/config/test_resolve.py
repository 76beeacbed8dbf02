"""One validation for form, REST API and command line: every field, every way to be wrong."""

import pytest

from siflab.config import Choice, parse_site, resolve, usable_profiles
from siflab.errors import Invalid
from tests.unit.config.test_site import SITE

DATA = {
    **SITE,
    "images": {**SITE["images"], "other": {"path": "/images/other.sif", "title": "Other"}},
    "profiles": {
        **SITE["profiles"],
        "course": {**SITE["profiles"]["a100"], "groups": ["cs101"]},
        "batch": {**SITE["profiles"]["a100"], "for_sessions": False, "nodes": 2},
    },
}
SITE_MODEL = parse_site(DATA)


def test_what_the_profile_says():
    resources = resolve(SITE_MODEL, Choice("a100"), "session")
    assert resources.sbatch_options() == [
        "--cpus-per-task=1",
        "--gres=gpu:1",
        "--mem=16G",
        "--nodes=1",
        "--ntasks-per-node=1",
        "--partition=gpu",
        "--time=2:00:00",
    ]
    assert resources.gpu_hours() == 2


def test_what_a_person_chose_wins_within_the_limits():
    resources = resolve(SITE_MODEL, Choice("a100", gpus="4", cpus=8, memory="64G", time="8:00:00"), "run")
    assert (resources.gpus, resources.cpus, resources.memory_mib, resources.time_seconds) == (4, 8, 65536, 28800)


@pytest.mark.parametrize(
    ("choice", "field", "code"),
    [
        (Choice(), "profile", "missing"),
        (Choice("a10"), "profile", "unknown-profile"),
        (Choice(["a100"]), "profile", "unknown-profile"),
        (Choice("a100", gpus=5), "gpus", "too-many-gpus"),
        (Choice("a100", gpus=0), "gpus", "gpus-out-of-range"),
        (Choice("a100", gpus="1; rm"), "gpus", "not-a-number"),
        (Choice("a100", gpus=True), "gpus", "not-a-number"),
        (Choice("a100", gpus=1.5), "gpus", "not-a-number"),
        (Choice("a100", gpus=[1]), "gpus", "not-a-number"),
        (Choice("a100", cpus=3), "cpus", "cpus-out-of-range"),
        (Choice("a100", nodes=2), "nodes", "nodes-fixed"),
        (Choice("a100", time="9:00:00"), "time", "time-over-limit"),
        (Choice("a100", time="0"), "time", "not-a-time"),
        (Choice("a100", time="--wrap=id"), "time", "not-a-time"),
        (Choice("a100", memory="65G"), "memory", "memory-over-limit"),
        (Choice("a100", memory="all"), "memory", "not-a-memory"),
        (Choice("a100", image="nope"), "image", "unknown-image"),
        (Choice("a100", image="other"), "image", "image-not-allowed"),
        (Choice("a100", image={"a": 1}), "image", "unknown-image"),
    ],
)
def test_what_is_refused(choice, field, code):
    with pytest.raises(Invalid) as caught:
        resolve(SITE_MODEL, choice, "session")
    assert [(error.field, error.code) for error in caught.value.errors] == [(field, code)]
    assert caught.value.errors[0].message.en
    assert caught.value.errors[0].message.zh != caught.value.errors[0].message.en


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(Invalid) as caught:
        resolve(SITE_MODEL, Choice("a100", gpus=9, time="99:00:00", memory="x"), "session")
    assert {error.field for error in caught.value.errors} == {"gpus", "time", "memory"}
    assert caught.value.as_failure()["code"] == "invalid"


@pytest.mark.parametrize(
    ("groups", "purpose", "names"),
    [
        ([], "session", ["a100"]),
        (["cs101"], "session", ["a100", "course"]),
        (None, "session", ["a100", "course"]),
        ([], "run", ["a100", "batch"]),
    ],
)
def test_who_may_use_what(groups, purpose, names):
    assert list(usable_profiles(SITE_MODEL, purpose, groups)) == names


def test_a_profile_of_a_group_does_not_exist_for_others():
    with pytest.raises(Invalid) as caught:
        resolve(SITE_MODEL, Choice("course"), "session", groups=["other"])
    assert caught.value.errors[0].code == "unknown-profile"
    assert "course," not in caught.value.message.en
