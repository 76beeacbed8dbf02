"""The reference deployment: what it sets, and what it does with settings that cannot be."""

import json
import os
from pathlib import Path

import pytest
import yaml
from traitlets.config import Config

from siflab.config import SiteError

from .conftest import SITE

FILE = Path(__file__).parents[3] / "jupyterhub_config.py"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the file with these settings; its configuration."""

    def run_with(settings=None, site=SITE):
        (tmp_path / "site.yaml").write_text(yaml.safe_dump(site))
        (tmp_path / "settings.json").write_text(json.dumps({"data_dir": str(tmp_path / "data"), **(settings or {})}))
        monkeypatch.setenv("SIFLAB_SITE", str(tmp_path / "site.yaml"))
        monkeypatch.setenv("SIFLAB_HUB_SETTINGS", str(tmp_path / "settings.json"))
        config = Config()
        exec(compile(FILE.read_text(), str(FILE), "exec"), {"get_config": lambda: config})
        return config

    return run_with


def test_a_hub_without_settings(run, tmp_path):
    config = run()
    assert config.JupyterHub.spawner_class == "siflab" and config.Spawner.default_url == "/lab"
    assert config.JupyterHub.authenticator_class == "pam" and config.PAMAuthenticator.open_sessions is False
    assert config.Authenticator.allow_all is True
    assert os.stat(tmp_path / "data").st_mode & 0o777 == 0o700


WHO = [
    ({}, True, set(), set()),
    ({"allowed_users": ["*"]}, True, set(), set()),
    ({"allowed_users": ["user1"]}, False, {"user1"}, set()),
    ({"allowed_users": []}, False, set(), set()),
    ({"allowed_groups": ["lab"]}, False, set(), {"lab"}),
]


@pytest.mark.parametrize(("settings", "everyone", "users", "groups"), WHO)
def test_who_may_log_in(run, settings, everyone, users, groups):
    config = run(settings)
    assert config.Authenticator.allow_all is everyone
    assert config.Authenticator.allowed_users == users
    assert config.LocalAuthenticator.allowed_groups == groups


def test_an_unknown_setting_ends_the_start(run):
    with pytest.raises(SystemExit, match="proxy_comand"):
        run({"proxy_comand": ["x"]})


def test_a_site_that_cannot_be_used_ends_the_start_naming_the_key(run):
    with pytest.raises(SiteError, match="profils"):
        run(site={**SITE, "profils": {}})
