"""What tells one image file from another."""

import hashlib
import subprocess
import threading

import pytest

from siflab.config import Image
from siflab.container import digest
from siflab.text import Text

SHELL = 'head -c 65536 -- "$1"; tail -c 65536 -- "$1"; stat -L -c %s -- "$1"'


@pytest.mark.parametrize("size", [0, 10, 65536, 65537, 200_000])
def test_python_and_the_jobs_script_agree(tmp_path, size):
    file = tmp_path / "x.sif"
    file.write_bytes(bytes(index % 251 for index in range(size)))
    shell = subprocess.run(["sh", "-c", f"{{ {SHELL}; }} | sha256sum", "sh", str(file)], capture_output=True, text=True)
    assert digest.fingerprint(file) == "sif:" + shell.stdout.split()[0]


def test_a_copy_is_the_same_and_a_new_build_is_not(tmp_path):
    one, copy, other = tmp_path / "one", tmp_path / "copy", tmp_path / "other"
    data = bytearray(300_000)
    one.write_bytes(data)
    copy.write_bytes(data)
    assert digest.fingerprint(one) == digest.fingerprint(copy)
    for position in (48, 299_999):  # the header's UUID; a table at the end
        changed = bytearray(data)
        changed[position] = 1
        other.write_bytes(changed)
        assert digest.fingerprint(one) != digest.fingerprint(other)


def test_what_site_yaml_states_comes_first(tmp_path):
    stated = "sha256:" + "0" * 64
    image = Image(path=str(tmp_path / "none.sif"), title=Text.plain("x"), digest=stated)
    assert digest.identity(image) == stated
    assert digest.identity(image.model_copy(update={"digest": None})) is None
    assert digest.identity(image.model_copy(update={"digest": None, "path": str(tmp_path)})) is None, "a folder"


def test_a_whole_file_is_hashed_once_for_all_who_ask(tmp_path, monkeypatch):
    file = tmp_path / "x.sif"
    file.write_bytes(b"image")
    made, real = [], hashlib.sha256
    monkeypatch.setattr(digest.hashlib, "sha256", lambda *given: made.append(1) or real(*given))
    found = []
    threads = [threading.Thread(target=lambda: found.append(digest.sha256_of(file))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {"sha256:" + real(b"image").hexdigest()}
    assert len(made) == 1
    file.write_bytes(b"another")
    assert digest.sha256_of(file) == "sha256:" + real(b"another").hexdigest()
