"""site.yaml: what is read, and what an administrator is told of each mistake."""

import copy
import json
from pathlib import Path

import pytest

from siflab.config import SiteError, load_site, parse_site

REPOSITORY = Path(__file__).parents[3]
SITE = {
    "name": "lab",
    "title": {"en": "Lab", "zh": "实验室"},
    "singularity": {"binds": ["/home:/workspace", "/dataset:/datasets:ro"]},
    "images": {"torch": {"path": "/images/torch.sif", "title": "PyTorch"}},
    "profiles": {
        "a100": {
            "title": "A100",
            "image": "torch",
            "partition": "gpu",
            "gpus": 1,
            "memory": "16G",
            "time": "2:00:00",
            "allow": {"gpus": {"min": 1, "max": 4}, "time": "8:00:00", "memory": "64G", "cpus": [1, 2, 8]},
        }
    },
}


def changed(path: str, value: object) -> dict:
    data = copy.deepcopy(SITE)
    *parents, last = path.split(".")
    target = data
    for part in parents:
        target = target.setdefault(part, {})
    if value is None:
        del target[last]
    else:
        target[last] = value
    return data


def test_the_demo_site_is_valid():
    site = load_site(REPOSITORY / "site.yaml")
    assert [str(bind) for bind in site.singularity.binds] == [
        "/home:/workspace",
        "/scratch:/tmpdata",
        "/dataset:/datasets:ro",
    ]
    assert site.profiles["a100-1"].time == 7200
    assert site.profiles["a100-1"].memory == 4096


def test_what_a_session_gets_is_the_same_site(tmp_path):
    file = tmp_path / "site.json"
    site = parse_site(SITE)
    file.write_text(json.dumps(site.public()))
    assert load_site(file) == site


@pytest.mark.parametrize(
    ("path", "value", "key", "part"),
    [
        ("profils", {}, "profils", "did you mean `profiles`?"),
        ("profiles.a100.gpuss", 1, "profiles.a100.gpuss", "did you mean `gpus`?"),
        ("profiles.a100.allow.gpu", 1, "profiles.a100.allow.gpu", "did you mean `gpus`?"),
        ("singularity.bindz", [], "singularity.bindz", "did you mean `binds`?"),
        ("profiles.a100.image", "nope", "profiles.a100.image", "no image 'nope'"),
        ("profiles.a100.allow.image", ["nope"], "profiles.a100.image", "no image 'nope'"),
        ("profiles.a100.time", "soon", "profiles.a100.time", "H:MM:SS"),
        ("profiles.a100.time", 0, "profiles.a100.time", "longer than 0"),
        ("profiles.a100.memory", "much", "profiles.a100.memory", "such as 16G"),
        ("profiles.a100.memory", None, "profiles.a100.memory", "missing"),
        ("profiles.a100.partition", "gpu;rm -rf /", "profiles.a100.partition", "not allowed"),
        ("profiles.a100.account", "$(id)", "profiles.a100.account", "not allowed"),
        ("profiles.a100.allow.gpus", {"min": 1}, "profiles.a100.allow.gpus", "`max` or `choices`"),
        ("profiles.a100.gpus", -1, "profiles.a100.gpus", "greater than or equal to 0"),
        ("singularity.binds", ["/home"], "singularity.binds.0", "/source:/target"),
        ("singularity.binds", ["/a:/b:rx"], "singularity.binds.0", "/source:/target"),
        ("singularity.command", "singularity; id", "singularity.command", "not allowed"),
        ("images.torch.path", "relative.sif", "images.torch.path", "not allowed"),
        ("images.torch.digest", "sha256:12", "images.torch.digest", "not allowed"),
        ("images", {}, "images", "at least 1"),
        ("name", "Has Blanks", "name", "not allowed"),
        ("title", {"fr": "x"}, "title", "for each language"),
        ("runs.default_profile", "nope", "runs.default_profile", "no profile 'nope'"),
        ("runs.root", "relative", "runs.root", "not allowed"),
        ("version", 2, "version", "1"),
    ],
)
def test_a_mistake_is_named_by_its_key(path, value, key, part):
    with pytest.raises(SiteError) as caught:
        parse_site(changed(path, value), "site.yaml")
    assert caught.value.key == key
    assert part in caught.value.message.en
    assert caught.value.message.en.startswith(f"site.yaml: {key}: ")


@pytest.mark.parametrize(
    ("text", "part"),
    [("a: [", "no valid YAML"), ("- a\n", "must be a mapping"), ("name: x\nname: y\n", "there twice"), ("", "mapping")],
)
def test_a_file_that_is_none(tmp_path, text, part):
    file = tmp_path / "site.yaml"
    file.write_text(text)
    with pytest.raises(SiteError, match=part):
        load_site(file)


def test_a_missing_file_says_where_it_was_looked_for(tmp_path):
    with pytest.raises(SiteError) as caught:
        load_site(tmp_path / "none.yaml")
    assert "none.yaml" in caught.value.message.en
    assert "SIFLAB_SITE" in caught.value.message.zh


def test_an_unquoted_time_is_no_base_60_number(tmp_path):
    file = tmp_path / "site.yaml"
    text = json.dumps(SITE).replace('"time": "2:00:00"', '"time": 2:00:00')
    file.write_text(text)
    assert load_site(file).profiles["a100"].time == 7200
