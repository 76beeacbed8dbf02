"""Which kernel runs a notebook, and where its sockets lie."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from siflab.inside.kernels import SOCKET_PATH_LIMIT, NoSuchKernel, SocketFolder, choose_kernel

SPECS = {
    name: {"spec": {"language": language}}
    for name, language in {"python3": "python", "ir": "R", "alt": "python"}.items()
}
CHOICES = [
    # wanted, kernelspec, language_info, chosen
    (None, {"name": "python3"}, {}, "python3"),
    ("ir", {"name": "python3"}, {}, "ir"),
    (None, {"name": "conda-env-mine-py", "language": "python"}, {}, "python3"),
    (None, {"name": "conda-env-mine-py"}, {"name": "python"}, "python3"),
    (None, {"name": "my-python"}, {}, "python3"),
    (None, {"name": "rkernel", "language": "R"}, {}, "ir"),
    (None, {}, {}, "python3"),
    ("gone", {"name": "python3"}, {}, None),
    (None, {"name": "julia-1.9", "language": "julia"}, {}, None),
    (None, {"name": "unheard-of"}, {}, None),
]


@pytest.mark.parametrize(("wanted", "kernelspec", "language_info", "chosen"), CHOICES)
def test_the_kernel_of_a_notebook(wanted, kernelspec, language_info, chosen):
    notebook = {"metadata": {"kernelspec": kernelspec, "language_info": language_info}}
    if chosen is None:
        with pytest.raises(NoSuchKernel, match="alt, ir, python3"):
            choose_kernel(wanted, notebook, SPECS)
    else:
        assert choose_kernel(wanted, notebook, SPECS) == chosen


@pytest.mark.parametrize("length", [10, 60, 70, 200])
def test_sockets_lie_in_a_private_folder_with_a_short_path(tmp_path, monkeypatch, length):
    parent = tmp_path / ("x" * length)
    parent.mkdir()
    monkeypatch.setenv("TMPDIR", str(parent))
    folder, manager = SocketFolder(), SimpleNamespace()
    folder.configure(manager)
    assert manager.transport == "ipc" and folder.path.stat().st_mode & 0o777 == 0o700
    assert len(str(folder.path / "k-ipc-5")) < SOCKET_PATH_LIMIT
    folder.remove()
    assert not Path(manager.connection_file).parent.exists()


def test_what_a_killed_runner_left_is_swept_and_what_is_in_use_is_not(short_folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(short_folder))
    in_use, left = SocketFolder(), SocketFolder()
    os.close(left._lock)  # as the end of its process does
    others = short_folder / "siflab-kernel-of-an-older-kind"
    others.mkdir()
    new = SocketFolder()
    assert set(short_folder.iterdir()) == {in_use.path, others, new.path}
    new.remove()
    in_use.remove()
    assert set(short_folder.iterdir()) == {others}
