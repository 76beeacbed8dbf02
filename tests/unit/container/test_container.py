"""Paths outside and inside, the command line, and what makes an image unusable."""

import pytest

from siflab.config import Bind, SingularitySite
from siflab.container.binds import PathMap
from siflab.container.checks import check_binds
from siflab.container.command import exec_argv, use_nv
from siflab.container.image import check_image

BINDS = [
    Bind.model_validate(words) for words in ("/home:/workspace", "/scratch/fast:/tmpdata", "/dataset:/datasets:ro")
]


@pytest.mark.parametrize(
    ("host", "inside"),
    [
        ("/home/user1/a.ipynb", "/workspace/user1/a.ipynb"),
        ("/home", "/workspace"),
        ("/home/", "/workspace"),
        ("/homes/user1", None),
        ("/home/../etc/passwd", None),
        ("/scratch/fast/x", "/tmpdata/x"),
        ("/scratch/slow", None),
        ("/home/user1/训练 \"a\" $(id).ipynb", "/workspace/user1/训练 \"a\" $(id).ipynb"),
    ],
)  # fmt: skip
def test_paths(host, inside):
    paths = PathMap(BINDS)
    assert paths.to_inside(host) == inside
    if inside is not None:
        assert paths.to_host(inside) == host.rstrip("/")


def test_the_longest_bind_wins():
    paths = PathMap([Bind(source="/data", target="/d"), Bind(source="/data/new", target="/n")])
    assert paths.to_inside("/data/new/x") == "/n/x"
    assert paths.to_inside("/data/old/x") == "/d/old/x"


def test_without_binds_inside_and_outside_are_the_same():
    assert PathMap([]).to_inside("/a/b") == "/a/b"
    assert PathMap([]).to_host("/a/../b") == "/b"


def test_the_command_line():
    site = SingularitySite(binds=tuple(BINDS))
    argv = exec_argv(
        site,
        "/i.sif",
        ["python3", "-c", "x y"],
        nv=True,
        home=("/home/user1", "/workspace/user1"),
        pwd="/workspace/user1",
        env={"A": "1"},
    )
    assert argv == [
        "singularity", "exec", "--nv", "--bind", "/home:/workspace", "--bind", "/scratch/fast:/tmpdata", "--bind",
        "/dataset:/datasets:ro", "--home", "/home/user1:/workspace/user1", "--pwd", "/workspace/user1", "--env", "A=1",
        "/i.sif", "python3", "-c", "x y",
    ]  # fmt: skip


def test_a_value_that_env_would_split_is_refused():
    with pytest.raises(ValueError, match="comma"):
        exec_argv(SingularitySite(), "/i.sif", ["true"], env={"A": "1,B=2"})


@pytest.mark.parametrize(
    ("mode", "gpus", "nv"), [("auto", 0, False), ("auto", 2, True), ("always", 0, True), ("never", 2, False)]
)
def test_nv(mode, gpus, nv):
    assert use_nv(SingularitySite(nv=mode), gpus) is nv


def test_images(tmp_path):
    good, bad = tmp_path / "good.sif", tmp_path / "bad.sif"
    good.write_bytes(b"#!/usr/bin/env run-singularity\n\0" + b"SIF_MAGIC\0" + b"01")
    bad.write_bytes(b"PK\3\4" * 20)
    assert check_image(str(good)) is None
    assert "no Singularity image" in check_image(str(bad)).en
    assert "does not exist" in check_image(str(tmp_path / "none.sif")).en


def test_a_bind_whose_source_is_missing_is_named(tmp_path):
    there = Bind(source=str(tmp_path), target="/a")
    missing = Bind(source=str(tmp_path / "none"), target="/b")
    (error,) = check_binds([there, missing])
    assert error.code == "bind-source-missing"
    assert str(tmp_path / "none") in error.message.en
