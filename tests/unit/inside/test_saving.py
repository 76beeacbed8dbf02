"""Files that are whole at every instant."""

import errno
import json
import os

import pytest

from siflab.inside import saving
from siflab.inside.saving import RESERVE_BYTES, Reserve, Saver, notebook_bytes, replace_file

FAILURES = [("write", errno.ENOSPC), ("write", errno.EDQUOT), ("fsync", errno.EIO), ("replace", errno.EACCES)]


@pytest.mark.parametrize(("step", "number"), FAILURES)
def test_a_failed_replacement_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, step, number):
    path = tmp_path / "output.ipynb"
    path.write_bytes(b"old")

    def fail(*_arguments):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(saving.Path if step == "replace" else os, step, fail)
    with pytest.raises(OSError) as caught:
        replace_file(path, b"new")
    assert caught.value.errno == number
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {"output.ipynb": b"old"}


def test_the_new_file_is_on_the_disk_before_it_has_the_name(tmp_path, monkeypatch):
    path, synced = tmp_path / "output.ipynb", []
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append((path.exists(), os.fstat(descriptor).st_size)))
    replace_file(path, b"new")
    assert synced == [(False, 3)] and path.read_bytes() == b"new"


TEXTS = [
    ("plain 训练", "plain 训练"),
    ("lone \ud83d!", "lone ?!"),
    (float("nan"), "nan"),
    ([float("inf"), (1.5,)], ["inf", [1.5]]),
]


@pytest.mark.parametrize(("value", "saved"), TEXTS, ids=lambda v: ascii(v)[:20])
def test_a_notebook_is_json_and_utf8_whatever_it_holds(value, saved):
    assert json.loads(notebook_bytes({"a": value}).decode("utf-8"), parse_constant=pytest.fail) == {"a": saved}


@pytest.mark.parametrize(("took", "due_after"), [(0.0, 2.0), (0.05, 2.0), (0.5, 10.0), (3.0, 60.0)])
def test_a_large_notebook_is_saved_less_often(tmp_path, monkeypatch, took, due_after):
    clock = [1000.0]
    monkeypatch.setattr(saving.time, "monotonic", lambda: clock[0])

    def settle():
        clock[0] += took

    saver = Saver(tmp_path / "output.ipynb", {}, settle, Reserve(tmp_path / ".reserve"))
    saver.save()
    clock[0] += due_after - 0.01
    saver.save_if_due()
    assert saver.saves == 1
    clock[0] += 0.02
    saver.save_if_due()
    assert saver.saves == 2


@pytest.mark.parametrize(("weight", "due_after"), [(0, 2.0), (1_000_000, 2.0), (100_000_000, 10.0)])
def test_a_notebook_that_has_become_large_is_not_saved_at_once(tmp_path, monkeypatch, weight, due_after):
    clock = [1000.0]
    monkeypatch.setattr(saving.time, "monotonic", lambda: clock[0])
    saver = Saver(tmp_path / "output.ipynb", {}, lambda: None, Reserve(tmp_path / ".reserve"), lambda: weight)
    saver.save()
    clock[0] += due_after - 0.01
    saver.save_if_due()
    assert saver.saves == 1
    clock[0] += 0.02
    saver.save_if_due()
    assert saver.saves == 2


def test_a_full_disk_takes_the_reserve_and_the_next_save_succeeds(tmp_path, monkeypatch):
    reserve = Reserve(tmp_path / ".reserve")
    reserve.take()
    assert reserve.path.stat().st_size == RESERVE_BYTES
    write = os.write

    def full_while_reserved(descriptor, data):
        if reserve.path.exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", full_while_reserved)
    saver = Saver(tmp_path / "output.ipynb", {"a": 1}, lambda: None, reserve)
    assert saver.save_last()
    assert (saver.error, json.loads(saver.path.read_text())) == (None, {"a": 1})
