"""The spawner that mixes jobs with servers of other spawners: what needs no Hub to be seen."""

from types import SimpleNamespace

import pytest
import yaml
from jupyterhub.spawner import LocalProcessSpawner
from traitlets.config import Config

from siflab.config import SiteError, parse_site
from siflab_spawner import SingularitySlurmSpawner
from siflab_spawner.wrapped.other_spawners import check, render_others, usable_others
from siflab_spawner.wrapped.site_profiles import SiteProfilesSpawner

from .conftest import SITE

OTHERS = {
    "on-hub": {"title": {"en": "On the host", "zh": "主机上"}, "description": "<b>small</b>"},
    "staff-hub": {"title": "Staff", "groups": ["staff"]},
}


@pytest.fixture
def mixed():
    return parse_site({**SITE, "spawners": OTHERS})


@pytest.fixture
def spawner(tmp_path, monkeypatch):
    file = tmp_path / "site.yaml"
    file.write_text(yaml.safe_dump({**SITE, "spawners": OTHERS}))
    config = Config(
        {
            "SingularitySlurmSpawner": {"site_file": str(file)},
            "LocalProcessSpawner": {"start_timeout": 77, "http_timeout": 78},
        }
    )
    user = SimpleNamespace(name="user1", groups=[], spawners={}, url="/user/user1/")
    row = SimpleNamespace(name="small", state={}, server=None, user_options={})
    return SiteProfilesSpawner(user=user, orm_spawner=row, config=config, oauth_client_id="c", hub=SimpleNamespace())


def test_the_childs_time_limits_rule_and_it_knows_its_name(spawner):
    assert isinstance(spawner.child_spawner, SingularitySlurmSpawner) and spawner.start_timeout > 10**8
    child = spawner._use("local")
    assert isinstance(child, LocalProcessSpawner) and child.name == "small"
    assert (spawner.start_timeout, spawner.http_timeout) == (77, 78)
    spawner.clear_state()
    assert isinstance(spawner.child_spawner, SingularitySlurmSpawner) and spawner.start_timeout > 10**8


def test_what_jupyterhub_sets_on_the_wrapper_reaches_the_child_and_no_other(spawner):
    child = spawner._use("local")
    spawner.api_token, spawner.cert_paths = "token", {"keyfile": "/k"}
    assert (child.api_token, child.cert_paths) == ("token", {"keyfile": "/k"})
    spawner._use("job")
    spawner.api_token = "next"
    assert spawner.child_spawner.api_token == "next" and child.api_token == "token"
    assert child.cmd != spawner.child_spawner.cmd, "no setting of the wrapper is laid over a child's own"


def test_the_state_says_which_child_it_was(spawner):
    spawner._use("local").pid = 4711
    state = spawner.get_state()
    assert state["child_kind"] == "local" and state["child_state"]["pid"] == 4711
    spawner.clear_state()
    assert spawner.get_state() == {}
    spawner.load_state(state)
    assert spawner.child_spawner.pid == 4711
    spawner.load_state({"child_kind": "no-longer-allowed", "child_state": {"submit_id": "x", "job_id": "12"}})
    assert spawner.child_spawner.session.job_id == "12"
    spawner.load_state({})
    assert spawner.get_state() == {}


@pytest.mark.parametrize(("groups", "keys"), [([], ["on-hub"]), (["staff"], ["on-hub", "staff-hub"])])
def test_others_are_offered_by_groups(mixed, groups, keys):
    assert list(usable_others(mixed, groups)) == keys


def test_their_cards(mixed):
    text = render_others(mixed.spawners, "zh", {"profile": "staff-hub"})
    assert "主机上" in text and "&lt;b&gt;small" in text and 'lang="zh-CN"' in text
    assert text.count("checked") == 1 and text.count('name="profile"') == 2
    assert render_others({}, "en", None) == ""


def test_a_name_stands_for_one_thing():
    with pytest.raises(SiteError, match="`profiles` has this name already"):
        parse_site({**SITE, "spawners": {"cpu": {"title": "x"}}})


ALLOWED = [
    ({"local": "jupyterhub.spawner.LocalProcessSpawner"}, None),
    ({"local": LocalProcessSpawner}, None),
    ({}, "spawners.on-hub.spawner: 'local' is none of"),
    ({"local": "no.such.Spawner"}, "cannot be used"),
    ({"local": "os.path.join"}, "no spawner"),
]


@pytest.mark.parametrize(("allowed", "words"), ALLOWED)
def test_only_classes_of_the_configuration(mixed, allowed, words):
    if words is None:
        check(mixed, allowed)
        return
    with pytest.raises(SiteError, match=words):
        check(mixed, allowed)
