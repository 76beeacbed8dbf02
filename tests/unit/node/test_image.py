"""Which image a session runs in, where its kernels lie, and what `siflab` is there."""

import subprocess
import sys

import pytest

from siflab.environments import jupyter_path
from siflab.node import client, image
from siflab.node.archive import build_archive
from siflab.node.folder import install_clients

SUM = "0123456789ab" + "c" * 52
STATED = "sha256:" + "d" * 64


@pytest.mark.parametrize(
    ("file", "stated", "found"),
    [
        (f"{SUM}  -\n", None, f"sif:{SUM}"),
        (f"{SUM}  -\n", STATED, STATED),
        (f"{SUM}  -\n", "sha256:short", f"sif:{SUM}"),
        ("sha256sum: error", None, None),
        (None, None, None),
    ],
)
def test_what_tells_the_image(tmp_path, file, stated, found):
    if file is not None:
        (tmp_path / "image").write_text(file)
    assert image.identity(str(tmp_path), stated) == found


def noted(tmp_path, container, **env):
    (tmp_path / "image").write_text(f"{SUM}  -\n")
    answer = {"env": env, "session": {"image_digest": None}}
    image.note(answer, str(tmp_path), container)
    return answer


def test_the_kernels_of_this_image_are_found_before_there_are_any(tmp_path):
    answer = noted(tmp_path, {"HOME": "/workspace/user1"})
    own = "/workspace/user1/.siflab/environments/.kernels/0123456789ab"
    assert answer["env"]["JUPYTER_PATH"] == own == jupyter_path("/workspace/user1", f"sif:{SUM}")
    assert answer["session"]["image_identity"] == f"sif:{SUM}"
    both = noted(tmp_path, {"HOME": "/h", "JUPYTER_PATH": "/images"})["env"]["JUPYTER_PATH"]
    assert both.endswith("/0123456789ab:/images")
    assert noted(tmp_path, {"HOME": "/h", "JUPYTER_PATH": "/i"}, JUPYTER_PATH="/hub")["env"]["JUPYTER_PATH"].endswith(
        ":/hub"
    )


@pytest.fixture
def session(tmp_path):
    """The private folder of a session whose image has no siflab, and a way to call `siflab` there."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "node.pyz").write_bytes(build_archive())
    with open(client.__file__.replace("client.py", "client.sh")) as source:
        install_clients(str(folder), sys.executable, source.read())
    (folder / "environments").write_text("import sys; print('carried', sys.argv[1:])")

    def call(*words, path=""):
        env = {"PATH": f"{folder}/bin:{path}/usr/bin:/bin", "SIFLAB_DIR": str(folder), "LANG": "C.UTF-8"}
        return subprocess.run([f"{folder}/bin/siflab", *words], env=env, capture_output=True, text=True)

    return call


def test_an_image_without_siflab_has_siflab_env(session):
    assert session("env", "list", "--json").stdout == "carried ['list', '--json']\n"
    done = session("promote", "x.ipynb")
    assert (done.returncode, done.stdout) == (127, "")
    assert "only `siflab env` works here" in done.stderr


def test_the_images_own_siflab_comes_first(session, make_program, tmp_path):
    make_program(tmp_path / "own" / "siflab", '#!/bin/sh\necho own "$@"\n')
    assert session("env", "list", path=f"{tmp_path}/own:").stdout == "own env list\n"
