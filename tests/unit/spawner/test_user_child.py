"""What is done with a user's rights: a program of its own, run as the spawner runs it."""

import asyncio
import os
import stat

import pytest

from siflab.errors import Internal, Invalid
from siflab.slurm.execute import PosixUser, Slurm
from siflab_spawner.accounts import as_user
from siflab_spawner.accounts.as_user import find_user, run_task
from siflab_spawner.page.options import resources_of
from siflab_spawner.start.preparation import prepare

pytestmark = pytest.mark.asyncio
SLURM = Slurm()


@pytest.fixture
def me(tmp_path):
    """The account that runs the tests, with a home of its own."""
    return PosixUser("me", os.getuid(), os.getgid(), (os.getgid(),), str(tmp_path / "home"), "/bin/sh")


async def tail(me, path, limit=100):
    return await run_task(SLURM, me, "tail", path=str(path), limit=limit)


async def test_the_end_of_a_log(tmp_path, me):
    log = tmp_path / "job.log"
    log.write_bytes(b"x" * 1000 + "结束\n".encode() + b"\xff")
    assert (await tail(me, log, 9))["text"] == "x结束\n\ufffd"
    assert (await tail(me, tmp_path / "none"))["text"] == ""


async def test_no_link_is_followed_and_nothing_blocks(tmp_path, me):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    (tmp_path / "link.log").symlink_to(secret)
    os.mkfifo(tmp_path / "fifo.log")
    for name in ("link.log", "fifo.log"):
        answer = await asyncio.wait_for(tail(me, tmp_path / name), 10)
        assert answer["text"] == "" and answer["words"]
    assert (await tail(me, tmp_path))["text"] == ""


def ready_site(site, tmp_path, image=b"x" * 32 + b"SIF_MAGIC", binds=("here",)):
    """The site with an image and binds that exist."""
    path = tmp_path / "image.sif"
    if image is not None:
        path.write_bytes(image)
    (tmp_path / "here").mkdir(exist_ok=True)
    torch = site.images["torch"].model_copy(update={"path": str(path)})
    found = tuple(
        bind.model_copy(update={"source": str(tmp_path / name)})
        for bind, name in zip(site.singularity.binds, binds, strict=False)
    )
    singularity = site.singularity.model_copy(update={"binds": found})
    return site.model_copy(update={"images": {**site.images, "torch": torch}, "singularity": singularity})


async def test_the_log_has_a_private_folder(site, tmp_path, me):
    good = ready_site(site, tmp_path)
    preparation = await prepare(SLURM, me, good, resources_of(good, {"profile": "cpu"}, []))
    folder = tmp_path / "home" / ".siflab" / "sessions"
    assert preparation.log_path("12") == str(folder / "12.log")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def old_files(folder):
    """Logs and others of 1970, and a new log."""
    folder.mkdir(parents=True)
    for name in ("1.log", "1_2.log", "2.log", "train.log", "old.txt"):
        (folder / name).write_text("")
        if name != "2.log":
            os.utime(folder / name, (0, 0))


async def test_old_logs_go_other_files_stay(site, tmp_path, me):
    folder = tmp_path / "home" / ".siflab" / "sessions"
    old_files(folder)
    good = ready_site(site, tmp_path)
    await prepare(SLURM, me, good, resources_of(good, {"profile": "cpu"}, []))
    assert sorted(os.listdir(folder)) == ["2.log", "old.txt", "train.log"]


async def test_nothing_is_cleared_away_behind_a_link(site, tmp_path, me):
    old_files(tmp_path / "results")
    (tmp_path / "home" / ".siflab").mkdir(parents=True)
    (tmp_path / "home" / ".siflab" / "sessions").symlink_to(tmp_path / "results")
    good = ready_site(site, tmp_path)
    await prepare(SLURM, me, good, resources_of(good, {"profile": "cpu"}, []))
    assert len(os.listdir(tmp_path / "results")) == 5


MISSING = [
    ({"image": None}, "image", "does not exist"),
    ({"image": b"#!/bin/sh"}, "image", "no Singularity image"),
    ({"image": b""}, "image", "no Singularity image"),
    ({"binds": ("here", "gone")}, "binds", "gone"),
]


@pytest.mark.parametrize(("what", "field", "words"), MISSING)
async def test_what_is_missing_is_refused_before_a_job_is_made(site, tmp_path, me, what, field, words):
    bad = ready_site(site, tmp_path, **what)
    resources = resources_of(bad, {"profile": "cpu"}, [])
    with pytest.raises(Invalid) as caught:
        await prepare(SLURM, me, bad, resources)
    (error,) = caught.value.errors
    assert error.field == field and words in error.message.en and "hub_sees_paths" in error.message.zh
    assert await prepare(SLURM, me, bad, resources, hub_sees_paths=False), "the job looks at it then"


async def test_a_home_that_cannot_be_written_is_told(site, tmp_path, me):
    (tmp_path / "home").write_text("no folder")
    good = ready_site(site, tmp_path)
    with pytest.raises(Invalid) as caught:
        await prepare(SLURM, me, good, resources_of(good, {"profile": "cpu"}, []))
    assert caught.value.errors[0].field == "home"


async def test_a_file_system_that_hangs_ends_at_the_time_limit(me, monkeypatch):
    monkeypatch.setattr(as_user, "_SOURCE", "import time; time.sleep(60)")
    with pytest.raises(Internal, match="could not be looked at"):
        await run_task(SLURM, me, "tail", timeout=0.2, path="/x", limit=1)


async def test_who_cannot_have_a_session():
    with pytest.raises(Internal, match="no account"):
        await find_user("nobody-of-this-name")
    with pytest.raises(Internal, match="root"):
        await find_user("root")
