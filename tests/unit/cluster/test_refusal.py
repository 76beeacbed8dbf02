"""Where a demo may be set up and where not; each row is a machine."""

import pytest

from cluster.instance.evidence import DAY, Evidence, Key
from cluster.instance.refusal import BESIDE, package_made, reasons, refusal

INSTALLED = 20_000 * DAY + 7 * 3600.0

KEYS = [
    ("made by the package's postinst, a second after", Key(INSTALLED + 1, INSTALLED, 20_000 * DAY), True),
    ("package upgraded a year later", Key(INSTALLED + 1, INSTALLED + 365 * DAY, 20_000 * DAY), True),
    ("the same, in a time zone ahead", Key(INSTALLED + 1, INSTALLED + 365 * DAY, 20_001 * DAY), True),
    ("exchanged for the cluster's key a week later", Key(INSTALLED + 7 * DAY, INSTALLED, 20_000 * DAY), False),
    ("copied with its old time", Key(INSTALLED - 900 * DAY, INSTALLED, 20_000 * DAY), False),
    ("no package, no user", Key(INSTALLED, 0.0, 0.0), False),
]


@pytest.mark.parametrize(("key", "made"), [row[1:] for row in KEYS], ids=[row[0] for row in KEYS])
def test_a_package_makes_a_key_by_itself(key: Key, made: bool) -> None:
    assert package_made(key) is made


MACHINES = [
    ("bare", Evidence(), None),
    ("packages only", Evidence(key=Key(INSTALLED + 1, INSTALLED, 20_000 * DAY)), None),
    ("another slurmctld", Evidence(daemons=("slurmctld (pid 12)",)), "slurmctld (pid 12)"),
    ("a munged", Evidence(daemons=("munged (pid 9)",)), "munged (pid 9)"),
    ("slurm.conf", Evidence(configurations=("/etc/slurm/slurm.conf",)), "/etc/slurm/slurm.conf"),
    ("SLURM_CONF", Evidence(slurm_conf="/opt/site/slurm.conf"), "/opt/site/slurm.conf"),
    ("a cluster's key", Evidence(key=Key(INSTALLED + 7 * DAY, INSTALLED, 20_000 * DAY)), "munge.key"),
    ("munge's options", Evidence(changed_munge_files=("/etc/default/munge",)), "/etc/default/munge"),
    ("users of a directory", Evidence(users_without_package=("slurm",)), "slurm"),
    ("people", Evidence(people=("student1",)), "student1"),
    ("a port", Evidence(ports=(8000,)), "8000"),
    ("a site", Evidence(files=("/etc/siflab/site.yaml",)), "/etc/siflab/site.yaml"),
]


@pytest.mark.parametrize(("found", "named"), [row[1:] for row in MACHINES], ids=[row[0] for row in MACHINES])
def test_what_refuses_is_named_in_both_languages(found: Evidence, named: str | None) -> None:
    why = reasons(found, beside=False)
    if named is None:
        assert why == []
    else:
        assert len(why) == 1
        text = refusal(why)
        assert named in text.en and named in text.zh
        assert BESIDE in text.en and BESIDE in text.zh


def test_all_reasons_come_at_once() -> None:
    found = Evidence(daemons=("munged (pid 9)",), configurations=("/etc/slurm/slurm.conf",), people=("student1",))
    assert len(reasons(found, beside=False)) == 3


def test_whoever_knows_the_other_slurm_may_go_on_but_not_over_people() -> None:
    found = Evidence(daemons=("munged (pid 9)",), configurations=("/etc/slurm/slurm.conf",), people=("student1",))
    assert [text.en for text in reasons(found, beside=True)] == [text.en for text in reasons(found, False)[2:]]
