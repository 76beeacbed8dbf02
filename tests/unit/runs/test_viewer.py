"""Where a viewer's run folders go."""

import pytest

from siflab.config import parse_site
from siflab.runs import Viewer


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("~/siflab-runs", "{home}/siflab-runs"),
        ("~/a/../b/", "{home}/b"),
        ("/scratch/siflab-runs", "/scratch/siflab-runs/user1"),
        ("/scratch/siflab-runs/", "/scratch/siflab-runs/user1"),
    ],
)
def test_each_user_has_a_folder_of_runs_of_their_own(site_data, slurm, root, expected):
    site = parse_site({**site_data, "runs": {"root": root}})
    viewer = Viewer(site, slurm, "user1", "/home/user1")
    assert viewer.runs_root() == viewer.runs_root_host() == expected.format(home="/home/user1")
