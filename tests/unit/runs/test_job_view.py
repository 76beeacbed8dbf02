"""How a run's container sees the host's paths, links included."""

import pytest

from siflab.config import parse_site
from siflab.runs.job_view import JobView


@pytest.fixture
def job_view(tmp_path, site_data):
    (tmp_path / "scratch").mkdir()
    (tmp_path / "unbound").mkdir()
    site_data["singularity"]["binds"].append(f"{tmp_path}/scratch:/tmpdata")
    return JobView(parse_site(site_data), str(tmp_path / "home" / "user1"))


def test_binds_move_paths(job_view, tmp_path):
    assert job_view.home == (f"{tmp_path}/home/user1", "/workspace/user1")
    assert job_view.inside(f"{tmp_path}/home/user1/a/../b") == "/workspace/user1/b"
    assert job_view.inside(f"{tmp_path}/scratch") == "/tmpdata"
    assert job_view.inside(f"{tmp_path}/unbound/x") is None
    assert job_view.inside("/") is None


def test_a_link_is_followed_to_where_the_container_has_it(job_view, tmp_path):
    link = tmp_path / "home" / "user1" / "work"
    link.symlink_to(tmp_path / "scratch")
    assert job_view.inside(f"{link}/x") == "/tmpdata/x"
    link.unlink()
    link.symlink_to(tmp_path / "unbound")
    assert job_view.inside(f"{link}/x") is None


def test_in_a_session_links_of_the_container_say_nothing_about_the_host(tmp_path, site_data):
    (tmp_path / "home" / "user1" / "work").symlink_to(tmp_path)
    view = JobView(parse_site(site_data), str(tmp_path / "home" / "user1"), follow_links=False)
    assert view.inside(f"{tmp_path}/home/user1/work/x") == "/workspace/user1/work/x"


def test_a_home_behind_a_link_is_still_the_home(tmp_path, site_data):
    (tmp_path / "nfs").mkdir()
    (tmp_path / "home" / "user1").rmdir()
    (tmp_path / "home").rmdir()
    (tmp_path / "home").symlink_to(tmp_path / "nfs")
    (tmp_path / "nfs" / "user1").mkdir()
    view = JobView(parse_site(site_data), str(tmp_path / "home" / "user1"))
    assert view.inside(f"{tmp_path}/home/user1/x") == "/workspace/user1/x"


def test_without_binds_the_home_is_mounted_where_it_is(tmp_path, site_data):
    site_data["singularity"]["binds"] = []
    view = JobView(parse_site(site_data), str(tmp_path / "home" / "user1"))
    assert view.home == (f"{tmp_path}/home/user1", f"{tmp_path}/home/user1")
    assert view.inside(f"{tmp_path}/home/user1/x") == f"{tmp_path}/home/user1/x"
    assert view.inside(f"{tmp_path}/other") is None
    assert [str(bind) for bind in view.extra_binds("/data/runs")] == ["/data/runs:/data/runs"]
    assert view.extra_binds(f"{tmp_path}/home/user1/runs") == ()
