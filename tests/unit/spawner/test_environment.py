"""What a session's server is started with: listed anew for each start, and shared with nobody (S12)."""

import copy
from types import SimpleNamespace

import pytest
from jupyterhub.objects import Hub
from traitlets.config import Config

from siflab.config import parse_site
from siflab_spawner.spawner import SingularitySlurmSpawner
from siflab_spawner.start.environment import session_environment

from .conftest import SITE

SHARED = {"FOR_ALL": "1"}


@pytest.fixture
def made(monkeypatch):
    """Spawners of one Hub with one configuration, one for each name."""
    site = parse_site({**SITE, "slurm": {"partitions": {"gpu": {"environment": {"NCCL_DEBUG": "INFO"}}}}})
    config = Config({"Spawner": {"environment": SHARED, "env_keep": ["LANG"]}})
    monkeypatch.setattr(SingularitySlurmSpawner, "site", site)
    account = SimpleNamespace(pw_dir="/home/x", pw_shell="/bin/sh")
    monkeypatch.setattr("batchspawner.batchspawner.pwd.getpwnam", lambda _: account)
    monkeypatch.setenv("SECRET_OF_THE_HUB", "x")

    def make(name, **settings):
        spawner = SingularitySlurmSpawner(config=config, hub=Hub(base_url="/hub/"), **settings)
        spawner.session.facts = {"partition": "gpu", "home_inside": f"/workspace/{name}"}
        url = f"/user/{name}/"
        spawner.user = SimpleNamespace(name=name, url=url, spawners={}, id=1)
        spawner.server = SimpleNamespace(bind_url=f"http://0.0.0.0:0{url}", base_url=url)
        return spawner

    return make, site, config


def test_the_environments_of_an_admin_and_a_user_share_nothing(made):
    make, site, config = made
    before = copy.deepcopy((dict(site.slurm.partitions["gpu"].environment), config.Spawner.environment))
    admin, user = make("admin1"), make("user1")
    one = session_environment(admin, 40000)
    one["ADDED"], one["NCCL_DEBUG"], one["FOR_ALL"] = "by admin", "changed", "changed"
    two = session_environment(user, 40001)
    assert "ADDED" not in two and (two["NCCL_DEBUG"], two["FOR_ALL"]) == ("INFO", "1")
    assert not [name for name, value in two.items() if "admin1" in value]
    assert two["JUPYTERHUB_SERVICE_URL"] == "http://0.0.0.0:40001/user/user1/"
    assert (dict(site.slurm.partitions["gpu"].environment), config.Spawner.environment) == before
    assert session_environment(admin, 40000).get("ADDED") is None, "nor do two starts"


def test_nothing_of_the_hub_s_own_environment(made):
    make, _, _ = made
    assert "SECRET_OF_THE_HUB" not in session_environment(make("user1"), 40000)


@pytest.mark.parametrize("asked", [False, True])
def test_a_site_may_shut_out_the_configuration_in_homes(made, asked):
    make, _, _ = made
    env = session_environment(make("user1", disable_user_config=asked), 40000)
    assert (env.get("JUPYTERHUB_DISABLE_USER_CONFIG") == "1") is asked
