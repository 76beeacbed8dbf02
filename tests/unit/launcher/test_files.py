"""What the launcher looks at, and makes, in a user's home."""

import importlib.machinery
import json
import os
import re
import stat
import types
from types import SimpleNamespace

import pytest

from siflab_spawner.start.preparation import LOG_FOLDER
from tests.unit.launcher.conftest import SOURCE


@pytest.fixture
def ask(tmp_path):
    """Runs a command in this process, as an account whose home is tmp_path/home."""
    loader = importlib.machinery.SourceFileLoader("siflab_launcher_under_test", str(SOURCE))
    module = types.ModuleType(loader.name)
    loader.exec_module(module)
    (tmp_path / "home").mkdir()

    def run(command, **arguments):
        data = {"version": 1, "command": command, "user": "user1", "timeout": 10, **arguments}
        request = module.parse(json.dumps(data).encode())
        request.update(account=SimpleNamespace(pw_dir=str(tmp_path / "home")))
        return module.COMMANDS[command][1](request)["answer"]

    run.refused = module.Refused
    return run


def prepare(ask, **changes):
    return ask("prepare", **{"image": "/none", "sources": [], "keep_days": 30, **changes})


def tail(ask, path, limit=65536):
    return ask("log-tail", path=str(path), limit=limit)


def test_the_folder_of_logs_is_private_and_the_one_of_the_spawner(ask, tmp_path):
    assert prepare(ask)["log_folder"] == {"ok": True, "words": ""}
    assert stat.S_IMODE((tmp_path / "home" / LOG_FOLDER).stat().st_mode) == 0o700


@pytest.mark.parametrize(("linked", "left"), [(False, ["2.log", "old.txt", "train.log"]), (True, None)])
def test_old_logs_of_jobs_go_and_nothing_else(ask, tmp_path, linked, left):
    folder = tmp_path / "results" if linked else tmp_path / "home" / LOG_FOLDER
    folder.mkdir(parents=True)
    if linked:
        (tmp_path / "home" / ".siflab").mkdir()
        (tmp_path / "home" / LOG_FOLDER).symlink_to(folder)
    names = ["1.log", "1_2.log", "2.log", "old.txt", "train.log"]
    for name in names:
        (folder / name).write_text("")
        if name != "2.log":
            os.utime(folder / name, (0, 0))
    assert prepare(ask)["log_folder"]["ok"]
    assert sorted(os.listdir(folder)) == (left or names)


IMAGES = [
    (b"x" * 32 + b"SIF_MAGIC", None), (b"#!/bin/sh", "no-image"), (b"", "no-image"), (None, "missing"), ("folder", None),
    ("fifo", "no-image"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "problem"), IMAGES, ids=lambda value: str(value)[:12])
def test_the_image(ask, tmp_path, content, problem):
    path = tmp_path / "图像 image.sif"
    if content == "folder":
        path.mkdir()
    elif content == "fifo":
        os.mkfifo(path)
    elif content is not None:
        path.write_bytes(content)
    answer = prepare(ask, image=str(path), sources=[str(tmp_path), str(tmp_path / "gone")])
    assert answer["image"]["problem"] == problem and answer["missing"] == [str(tmp_path / "gone")]


def test_the_end_of_a_log(ask, tmp_path):
    log = tmp_path / "home" / "5.log"
    log.write_bytes(b"x" * 100000 + "结束\n".encode() + b"\xff")
    assert tail(ask, log, 9)["text"] == "x结束\n\ufffd"
    assert len(tail(ask, log)["text"].encode()) <= 65536 + 2
    assert tail(ask, tmp_path / "home" / "none.log") == {"text": "", "words": "No such file or directory"}


def test_no_link_is_followed_nothing_blocks_and_others_files_are_not_read(ask, tmp_path):
    (tmp_path / "secret").write_text("secret")
    home = tmp_path / "home"
    (home / "link.log").symlink_to(tmp_path / "secret")
    os.mkfifo(home / "fifo.log")
    (home / "folder.log").mkdir()
    for name in ("link.log", "fifo.log", "folder.log"):
        answer = tail(ask, home / name)
        assert answer["text"] == "" and answer["words"], name
    if os.geteuid() == 0:
        (home / "other.log").write_text("secret")
        os.chown(home / "other.log", 65534, 65534)
        assert tail(ask, home / "other.log")["text"] == ""
    for path in (tmp_path / "x.log", home / ".." / "x.log", home / "x.txt"):
        with pytest.raises(ask.refused):
            tail(ask, path)


def test_the_options_of_the_spawner_are_all_allowed():
    """sbatch's options that a site's profiles can lead to."""
    text = SOURCE.read_text("utf-8")
    for name in ("account", "chdir", "comment", "cpus-per-task", "gres", "job-name", "mem", "nodes", "no-requeue",
                 "ntasks-per-node", "output", "partition", "qos", "reservation", "time", "clusters"):  # fmt: skip
        assert re.search(rf'[" ]{name}[" ]', text), name
