"""Paths of the container, as the node has them."""

import pytest

from siflab.node.paths import PathMap, mapped_options, missing_folders

BINDS = [
    ["/home", "/workspace"],
    ["/scratch", "/tmpdata"],
    ["/data/sets/", "/datasets"],
    ["/proj/x", "/workspace/shared"],
]

PATHS = [
    # inside, on the host
    ("/workspace", "/home"),
    ("/workspace/user1/a b.sh", "/home/user1/a b.sh"),
    ("/workspace/user1/../user2", "/home/user2"),
    ("/workspaces/user1", None),
    ("/workspace/shared/x", "/proj/x/x"),
    ("/datasets/imagenet", "/data/sets/imagenet"),
    ("/tmpdata/%j.out", "/scratch/%j.out"),
    ("/tmp/x", "/tmp/x"),
    ("/opt/jupyter", None),
    ("/", None),
    ("/workspace/训练", "/home/训练"),
]


@pytest.mark.parametrize(("inside", "host"), PATHS)
def test_to_host(inside, host):
    assert PathMap(BINDS).to_host(inside) == host


def test_a_site_that_moves_tmp_elsewhere_is_followed():
    assert PathMap([["/local/tmp", "/tmp"]]).to_host("/tmp/x") == "/local/tmp/x"


def test_one_bind_of_everything():
    assert PathMap([["/cluster", "/"]]).to_host("/user1/x") == "/cluster/user1/x"


OPTIONS = [
    (["-o", "/workspace/a/%j.out", "x.sh"], ["-o", "/home/a/%j.out", "x.sh"]),
    (["-o/workspace/a"], ["-o/home/a"]),
    (["--output=/workspace/a"], ["--output=/home/a"]),
    (["--output", "/workspace/a"], ["--output", "/home/a"]),
    (["-We/workspace/a"], ["-We/home/a"]),
    (["--chdir=/tmpdata/a", "-i", "/datasets/i"], ["--chdir=/scratch/a", "-i", "/data/sets/i"]),
    (["-D", "/workspace/user1"], ["-D", "/home/user1"]),
    (["-o", "logs/%j.out"], ["-o", "logs/%j.out"]),
    (["-o", "/dev/null"], ["-o", "/dev/null"]),
    (["--output=/home/user1/host.log"], ["--output=/home/user1/host.log"]),
    (["--comment=/workspace/a"], ["--comment=/workspace/a"]),
    (["x.sh", "--output=/workspace/a"], ["x.sh", "--output=/workspace/a"]),
    (["--wrap", "cat /workspace/a"], ["--wrap", "cat /workspace/a"]),
]


@pytest.mark.parametrize(("words", "right"), OPTIONS)
def test_paths_in_options_are_mapped_and_nothing_else(words, right):
    assert mapped_options(words, None, PathMap(BINDS)) == right


def test_paths_in_directives_become_options_unless_the_command_line_has_them():
    script = b"#!/bin/sh\n#SBATCH -o /workspace/user1/o -e /workspace/user1/e --chdir=relative\nhostname\n"
    assert mapped_options(["-e", "err", "x.sh"], script, PathMap(BINDS)) == [
        "--output=/home/user1/o",
        "-e",
        "err",
        "x.sh",
    ]


def test_folders_for_output_that_are_not_there(tmp_path):
    (tmp_path / "logs").mkdir()
    words = ["-o", "logs/%j.out", "-e", "/no/such/folder/e", "x.sh"]
    assert missing_folders(words, str(tmp_path)) == ["/no/such/folder"]
    assert missing_folders(["-o", "%x/%j.out"], str(tmp_path)) == []
    assert missing_folders(["-o", "no/%j.out"], str(tmp_path)) == [str(tmp_path / "no")]
