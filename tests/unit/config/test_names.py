"""Partition, GPU type, account, QOS and reservation: only where the profile says so, only names that Slurm can have."""

import pytest

from siflab.config import Choice, parse_site, resolve
from siflab.errors import Invalid
from tests.unit.config.test_site import SITE

PROFILE = {
    **SITE["profiles"]["a100"],
    "partition": "gpu",
    "gpu_type": "a100",
    "gpus": 1,
    "allow": {
        "partition": ["gpu", "gpu-long"],
        "gpu_type": ["a100", "a100_1g.5gb", "shard"],
        "account": "any",
        "qos": ["high"],
        "reservation": "any",
    },
}
FIXED = {**PROFILE, "allow": {}, "qos": "normal"}
MODEL = parse_site({**SITE, "profiles": {"open": PROFILE, "fixed": FIXED}})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, ["--gres=gpu:a100:1", "--partition=gpu"]),
        ({"partition": "gpu-long"}, ["--gres=gpu:a100:1", "--partition=gpu-long"]),
        ({"gpu_type": "a100_1g.5gb"}, ["--gres=gpu:a100_1g.5gb:1", "--partition=gpu"]),
        ({"gpu_type": "shard"}, ["--gres=shard:1", "--partition=gpu"]),
        ({"account": "cs101", "qos": "high"}, ["--account=cs101", "--gres=gpu:a100:1", "--partition=gpu", "--qos=high"]),
        ({"reservation": "lab.1"}, ["--gres=gpu:a100:1", "--partition=gpu", "--reservation=lab.1"]),
        ({"account": "", "qos": None}, ["--gres=gpu:a100:1", "--partition=gpu"]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("purpose", ["session", "run"])
def test_what_is_allowed_reaches_sbatch(options, expected, purpose):
    asked = resolve(MODEL, Choice("open", **options), purpose).sbatch_options()
    common = ("--cpus", "--mem", "--nodes", "--ntasks", "--time")
    assert [option for option in asked if not option.startswith(common)] == expected


@pytest.mark.parametrize(
    ("profile", "options", "code"),
    [
        ("open", {"partition": "cpu"}, "partition-not-allowed"),
        ("open", {"gpu_type": "v100"}, "gpu_type-not-allowed"),
        ("open", {"qos": "huge"}, "qos-not-allowed"),
        ("open", {"account": "a b"}, "not-a-account"),
        ("open", {"account": "--uid=0"}, "not-a-account"),
        ("open", {"account": "a,b"}, "not-a-account"),
        ("open", {"account": "a\n"}, "not-a-account"),
        ("open", {"account": "ä"}, "not-a-account"),
        ("open", {"reservation": "x" * 65}, "not-a-reservation"),
        ("open", {"reservation": ["x"]}, "not-a-reservation"),
        ("open", {"account": 7}, "not-a-account"),
        ("fixed", {"partition": "gpu-long"}, "partition-fixed"),
        ("fixed", {"qos": "high"}, "qos-fixed"),
        ("fixed", {"reservation": "lab"}, "reservation-fixed"),
    ],
)
def test_what_is_refused(profile, options, code):
    with pytest.raises(Invalid) as caught:
        resolve(MODEL, Choice(profile, **options), "session")
    assert [(error.field, error.code) for error in caught.value.errors] == [(next(iter(options)), code)]
    assert caught.value.errors[0].message.en != caught.value.errors[0].message.zh


def test_the_preset_may_always_be_named():
    assert resolve(MODEL, Choice("fixed", qos="normal", partition="gpu"), "session").qos == "normal"


def test_a_site_reads_its_public_part_again():
    assert parse_site(MODEL.public()) == MODEL
