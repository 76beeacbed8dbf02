"""Blocking work: its bounds, its time limit, its end; and the paths that requests name."""

import asyncio
import threading
from pathlib import Path

import pytest

from siflab_extension.paths import notebook_path
from siflab_extension.workroom import Busy, TooSlow, Workroom


@pytest.fixture
def gate():
    event = threading.Event()
    yield event
    event.set()


async def test_work_runs_in_another_thread_and_its_error_comes_back():
    room = Workroom()
    assert await room.run(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await room.run(lambda: 1 // 0)
    with pytest.raises(TimeoutError):
        await room.run(_time_out)
    room.close()


async def test_what_takes_too_long_is_answered_and_its_place_is_freed_when_it_ends(gate):
    room = Workroom(threads=1, waiting=1, limit=0.02)
    with pytest.raises(TooSlow) as slow:
        await room.run(lambda: gate.wait(10))
    assert (slow.value.status, slow.value.code) == (504, "too-slow")
    with pytest.raises(TooSlow):  # it never began, since the only thread is taken
        await room.run(threading.get_ident)

    gate.set()
    room.limit = 10
    assert await room.run(lambda: "free") == "free"
    room.close()


async def test_too_many_are_turned_away_at_once(gate):
    room = Workroom(threads=1, waiting=1, limit=10)
    waiting = [asyncio.ensure_future(room.run(lambda: gate.wait(10))) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Busy) as busy:
        await room.run(threading.get_ident)
    assert busy.value.status == 503

    gate.set()
    assert await asyncio.gather(*waiting) == [True, True]
    assert await room.run(lambda: "room again") == "room again"
    room.close()


async def test_a_closed_room_takes_nothing():
    room = Workroom()
    room.close()
    with pytest.raises(Busy):
        await room.run(threading.get_ident)


PATHS = [
    ("a.ipynb", "/root dir/a.ipynb"),
    ("dir/../b/./a.ipynb", "/root dir/b/a.ipynb"),
    ("../other/a.ipynb", "/other/a.ipynb"),
    ("/workspace/user1//a.ipynb", "/workspace/user1/a.ipynb"),
    ("//workspace/a.ipynb", "/workspace/a.ipynb"),
    ("RTC:dir/a.ipynb", "/root dir/dir/a.ipynb"),
    ("RTC:/dir/a.ipynb", "/root dir/dir/a.ipynb"),
    ("my-drive_2:a.ipynb", "/root dir/a.ipynb"),
    ("RTC:a:b.ipynb", "/root dir/a:b.ipynb"),
    ("dir/a:b.ipynb", "/root dir/dir/a:b.ipynb"),
    ('训练 "a" $(id).ipynb', '/root dir/训练 "a" $(id).ipynb'),
    (" a.ipynb ", "/root dir/ a.ipynb "),
]


@pytest.mark.parametrize(("path", "absolute"), PATHS)
def test_a_path_becomes_absolute(path, absolute):
    assert notebook_path(path, Path("/root dir")) == absolute


def test_a_file_whose_name_looks_like_a_drive_is_that_file(tmp_path):
    (tmp_path / "a:b.ipynb").touch()
    assert notebook_path("a:b.ipynb", tmp_path) == f"{tmp_path}/a:b.ipynb"


def _time_out():
    raise TimeoutError
