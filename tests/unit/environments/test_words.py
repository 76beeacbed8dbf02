"""What pip's failures mean, what a list may hold, where a scratch folder is inside, and the carried program."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import siflab.environments
from siflab.environments.pip import failure
from siflab.environments.place import Place, scratch_folder
from siflab.environments.requirements import checked, from_file, merged
from siflab.errors import Conflict, Internal, Invalid
from siflab.text import Text


@pytest.mark.parametrize(
    ("line", "kind", "says"),
    [
        ("OSError: [Errno 28] No space left on device", Internal, "no space left"),
        ("OSError: [Errno 122] Disk quota exceeded: '/x'", Internal, "quota is used up"),
        ("Caused by NewConnectionError('<...>: [Errno 111] Connection refused'", Internal, "index cannot be reached"),
        ("(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] x", Internal, "certificate"),
        ("ERROR: No matching distribution found for torch==9", Conflict, "no package torch==9"),
        ("/opt/python: No module named pip", Internal, "no pip"),
        ("ERROR: OSError: [Errno 2] No such file or directory: '/w/x.whl'", Conflict, "/w/x.whl does not exist"),
        ("ERROR: something else", Internal, "something else"),
    ],
)
def test_a_failure_of_pip_in_words(line, kind, says):
    error = failure(["Collecting x", line], from_source=False)
    assert isinstance(error, kind)
    assert says in error.message.en
    assert error.message.zh != error.message.en


def test_a_missing_package_behind_a_lost_network_is_the_networks_fault():
    lines = ["WARNING: Retrying ... NewConnectionError", "ERROR: No matching distribution found for numpy"]
    assert "cannot be reached" in failure(lines, False).message.en


@pytest.mark.parametrize(
    "line",
    ["--index-url=https://x", "-e .", "https://user:secret@host/x.whl", "./x", "../x", "a\x00b", "x" * 501],
)
def test_what_no_list_may_hold(line):
    with pytest.raises(Invalid) as caught:
        checked(["numpy", line])
    assert "secret" not in caught.value.message.en


def test_a_list_from_a_file(tmp_path):
    file = tmp_path / "r.txt"
    file.write_text("# what we use\nnumpy>=2 \\\n  ,<3\n\n--find-links /wheels\ntorch # the big one\nnumpy>=2    ,<3\n")
    assert from_file(file) == ["numpy>=2    ,<3", "--find-links /wheels", "torch"]
    file.write_text("-r other.txt\n")
    with pytest.raises(Invalid):
        from_file(file)
    with pytest.raises(Invalid):
        from_file(tmp_path / "none.txt")


def test_a_later_wish_replaces_an_earlier_one_for_the_same_package():
    before = ["Foo_Bar==1", "other", "/wheels/x.whl"]
    assert merged(before, ["foo-bar>=2", "new[extra]"]) == ["other", "/wheels/x.whl", "foo-bar>=2", "new[extra]"]


@pytest.mark.parametrize(
    ("binds", "inside"),
    [
        (["/scratch:/tmpdata"], "/tmpdata/envs/user1"),
        (["/:/host", "/scratch/envs:/envs"], "/envs/user1"),
        (["/scratch:/tmpdata:ro"], None),
        (["/scratch2:/tmpdata"], None),
    ],
)
def test_where_scratch_is_inside(binds, inside):
    assert scratch_folder({"environments": {"scratch": "/scratch/envs"}}, binds, "user1") == inside


def test_the_carried_program_runs_by_itself(tmp_path):
    program = tmp_path / "environments.py"
    program.write_text(siflab.environments.program_text(), "utf-8")
    assert siflab.environments.program_text() == program.read_text("utf-8"), "the same bytes each time"
    place = Place("sif:" + "a" * 64, "stock", "/x.sif", Text("Stock", "标准"), str(tmp_path))
    for language, words in (("C.UTF-8", "no environments yet"), ("zh_CN.UTF-8", "还没有环境")):
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(program), "--place", place.as_json(), "list"],
            capture_output=True, text=True, encoding="utf-8", env={"LANG": language, "PYTHONUTF8": "1"}, cwd="/",
        )  # fmt: skip
        assert (done.returncode, words in done.stdout) == (0, True), done.stderr
    nowhere = {"SIFLAB_SESSION": os.devnull, "LANG": "C.UTF-8"}
    done = subprocess.run([sys.executable, "-I", "-S", str(program), "list"], capture_output=True, env=nowhere)
    assert done.returncode == 70 and b"this is no session" in done.stderr


def test_it_is_python_3_9():
    for file in Path(siflab.environments.__file__).parent.glob("*.py"):
        ast.parse(file.read_text("utf-8"), feature_version=(3, 9))
