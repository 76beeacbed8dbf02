"""Making, changing, rebuilding and removing environments, with the real venv and pip."""

import json
import subprocess
import threading

import pytest

from siflab.environments import Making, Store, create, install, rebuild, remove
from siflab.environments.kernels import spec_folder
from siflab.environments.locks import locked
from siflab.environments.stop import Stop, Stopped
from siflab.environments.store import MAKING, write_json
from siflab.errors import Conflict, Internal, Invalid, NotFound
from tests.unit.environments.conftest import a_place
from tests.unit.others_folders import HOW, give_away


def python(environment, code):
    argv = [f"{environment.venv}/bin/python", "-c", code]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()


def everything_in(place):
    """All files but the locks."""
    found = [path for path in place.root.rglob("*") if path.is_file() or path.is_symlink()]
    return [path for path in found if ".locks" not in path.parts]


def test_an_environment_has_its_packages_before_the_images_and_a_kernel(place, wheels):
    made = create(place, "nlp", ["siflabtiny==1.0", "packaging==99.0", "ipykernel"])
    assert made.installed == ["packaging==99.0", "siflabtiny==1.0"]
    assert list(made.replaces) == ["packaging"], "the image's own is said to stand behind it"
    assert python(made, "import siflabtiny, ipykernel, packaging; print(siflabtiny.VERSION, packaging.VERSION)") == (
        "1.0 99.0"
    )
    spec = json.loads((spec_folder(place, made) / "kernel.json").read_text())
    assert spec["argv"][-5] == f"{made.venv}/bin/python"
    assert spec["display_name"] == "nlp (my packages on Stock)"
    (found,) = Store(place).all()
    assert (found, found.state) == (made, "ready")
    pip = subprocess.run([f"{made.venv}/bin/pip", "list"], capture_output=True, text=True, check=True)
    assert "siflabtiny" in pip.stdout, "pip in a cell means this environment"


def test_more_packages_and_a_later_wish_for_the_same(place, wheels):
    create(place, "nlp", ["siflabtiny==1.0"])
    more = install(place, "nlp", ["SiflabTiny>=1.1"])
    assert (more.packages, more.installed) == (["SiflabTiny>=1.1"], ["siflabtiny==1.1"])
    with pytest.raises(Conflict, match="no package nosuch"):
        install(place, "nlp", ["nosuch"])
    assert Store(place).require("nlp").packages == ["SiflabTiny>=1.1"], "what failed is not in the list"


@pytest.mark.parametrize(
    ("packages", "says"),
    [
        (["nosuch"], "there is no package nosuch"),
        (["siflabtiny==9"], "there is no package siflabtiny==9"),
        (["siflabneeds", "siflabtiny==1.1"], "cannot be installed together"),
        (["???"], "does not understand this list"),
    ],
)
def test_what_cannot_be_installed_is_said_and_leaves_nothing(place, wheels, packages, says):
    with pytest.raises(Conflict, match=says):
        create(place, "nlp", packages)
    assert everything_in(place) == []
    assert create(place, "nlp", ["siflabtiny"]).state == "ready", "and the name is free"


def test_another_image_does_not_see_it_and_rebuilds_it_from_its_list(place, wheels, tmp_path):
    old = create(place, "nlp", ["siflabtiny"])
    later = a_place(tmp_path, "b")
    assert [each.state for each in Store(later).all()] == ["earlier"]
    with pytest.raises(NotFound, match="siflab env rebuild nlp"):
        install(later, "nlp", ["packaging"])
    (wheels / "siflabtiny-1.1-py3-none-any.whl").unlink()
    done = rebuild(later, "nlp")
    assert done.changes == {"siflabtiny": ("1.1", "1.0")}
    assert [(each.id, each.state) for each in Store(later).all()] == [("b" * 12, "ready"), ("a" * 12, "earlier")]
    assert Store(place).require("nlp") == old, "the old one stays"
    with pytest.raises(Conflict, match="--again"):
        rebuild(later, "nlp")
    with pytest.raises(Invalid, match="say with --id"):
        remove(later, "nlp")
    remove(later, "nlp", "a" * 12)
    assert [each.id for each in Store(later).all()] == ["b" * 12]


def test_a_list_outlives_a_rebuild_that_fails(place, wheels):
    create(place, "nlp", ["siflabtiny"])
    for wheel in wheels.glob("siflabtiny*"):
        wheel.rename(wheel.with_suffix(".away"))
    with pytest.raises(Conflict):
        rebuild(place, "nlp", again=True)
    (left,) = Store(place).all()
    assert (left.state, left.packages) == ("unfinished", ["siflabtiny"])
    for wheel in wheels.glob("*.away"):
        wheel.rename(wheel.with_suffix(".whl"))
    assert rebuild(place, "nlp").environment.state == "ready"


def test_what_a_killed_process_left_is_found(place, wheels):
    made = create(place, "nlp", [])
    record = Store(place).folder("nlp")
    (record / "environment.json").rename(record / MAKING)  # as it is before the last step
    assert Store(place).all()[0].state == "unfinished"
    with pytest.raises(Conflict, match="siflab env rebuild nlp"):
        create(place, "nlp", [])
    with locked(place.root, "nlp", place.id):
        assert Store(place).all()[0].state == "making"
    remove(place, "nlp")
    assert everything_in(place) == []
    assert not made.venv.exists()


def test_files_that_scratch_lost(place, wheels, tmp_path):
    place = a_place(tmp_path, scratch=str(tmp_path / "scratch" / "user1"))
    made = create(place, "nlp", ["siflabtiny"])
    assert made.folder.startswith(place.scratch), "the site prefers scratch"
    made.venv.rename(tmp_path / "gone")
    assert Store(place).all()[0].state == "lost"
    with pytest.raises(Conflict, match="siflab env rebuild nlp"):
        install(place, "nlp", ["packaging"])
    assert rebuild(place, "nlp").environment.folder == made.folder


def test_two_at_once_are_told(place, wheels):
    with locked(place.root, "nlp", place.id):
        with pytest.raises(Conflict, match="somebody works on the environment nlp"):
            create(place, "nlp", [])
    create(place, "nlp", [])


def test_a_lock_of_another_node_counts_while_it_is_alive(place, monkeypatch):
    path = place.root / ".locks" / f"nlp-{place.id}"
    path.parent.mkdir(parents=True)
    path.write_text("another-node")
    with pytest.raises(Conflict, match="another-node"):
        with locked(place.root, "nlp", place.id):
            pass
    import os

    os.utime(path, (0, 0))
    with locked(place.root, "nlp", place.id):
        assert path.read_text() == os.uname().nodename


def test_it_is_stopped_and_leaves_nothing(place, wheels):
    stop, begun = Stop(), threading.Event()

    def say(_line):
        begun.set()
        stop.request()

    with pytest.raises(Stopped):
        create(place, "nlp", ["siflabtiny"], making=Making(say=say, stop=stop))
    assert begun.is_set()
    assert everything_in(place) == []


@pytest.mark.parametrize(
    ("name", "packages", "root", "field"),
    [
        ("../x", [], None, "name"),
        ("Nlp", [], None, "name"),
        ("nlp", [], "relative", "root"),
        ("nlp", [], "/a:b", "root"),
        ("nlp", [], "scratch", "root"),
    ],
)
def test_what_is_refused_before_anything_is_made(place, name, packages, root, field):
    with pytest.raises(Invalid) as caught:
        create(place, name, packages, root=root)
    assert caught.value.errors[0].field == field
    assert everything_in(place) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Internal, match="file"):
        create(a_place(tmp_path / "file"), "nlp", [])


def test_a_damaged_record_is_not_ours(place):
    folder = Store(place).folder("nlp")
    folder.mkdir(parents=True)
    for record in ({"name": "nlp"}, {"name": 3}, {"name": "other", "identity": place.identity}):
        write_json(folder / "environment.json", record)
        assert Store(place).all() == []


@pytest.mark.parametrize("how", HOW)
def test_nothing_of_another_users_is_run(tmp_path, wheels, how):
    """Scratch is cleaned, and then anybody can make a folder of this name."""
    place = a_place(tmp_path / "home", scratch=str(tmp_path / "scratch" / "user1"))
    made = create(place, "nlp", ["ipykernel"])
    spec = json.loads((spec_folder(place, made) / "kernel.json").read_text())
    started = [*spec["argv"][:-4], "-c", "print('a kernel')"]
    assert subprocess.run(started, capture_output=True, text=True, check=True).stdout == "a kernel\n"
    give_away(tmp_path / "scratch" / "user1", how)
    refused = subprocess.run(started, capture_output=True, text=True, check=False)
    assert (refused.returncode, refused.stdout) == (1, "") and "not yours alone" in refused.stderr
    for change in (
        lambda: install(place, "nlp", ["siflabtiny"]),
        lambda: rebuild(place, "nlp", again=True),
        lambda: create(place, "other", ["siflabtiny"]),
    ):
        with pytest.raises(Internal, match="not yours alone"):
            change()
    assert create(place, "other", [], root="home").folder.startswith(str(tmp_path / "home"))
