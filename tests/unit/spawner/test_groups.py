"""Groups by which profiles are offered."""

import logging
from types import SimpleNamespace

import pytest

from siflab.errors import Internal
from siflab.slurm.execute import PosixUser
from siflab.text import Text
from siflab_spawner.accounts import groups

pytestmark = pytest.mark.asyncio


def spawner(site, *names):
    user = SimpleNamespace(name="user1", groups=[SimpleNamespace(name=name) for name in names])
    return SimpleNamespace(site=site, user=user, log=logging.getLogger("test"))


async def test_jupyterhubs_and_the_accounts_own(site, monkeypatch):
    async def found(name):
        return PosixUser(name, 1001, 0, (0, 4000000), "/home/user1", "/bin/sh")

    monkeypatch.setattr(groups, "find_user", found)
    assert await groups.group_names(spawner(site, "staff")) == ["root", "staff"]


async def test_a_directory_that_does_not_answer_gives_no_more(site, monkeypatch):
    async def lost(name):
        raise Internal(Text("away", "无响应"))

    monkeypatch.setattr(groups, "find_user", lost)
    assert await groups.group_names(spawner(site, "staff")) == ["staff"]


async def test_nobody_is_asked_where_no_profile_has_groups(site, monkeypatch):
    monkeypatch.setattr(groups, "find_user", None)
    plain = site.model_copy(update={"profiles": {"cpu": site.profiles["cpu"]}})
    assert await groups.group_names(spawner(plain)) == []
