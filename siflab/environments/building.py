"""The files of an environment: the virtual environment below which the image's packages lie."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from siflab.environments.pip import disk_full, environment, quota_reached
from siflab.environments.stop import Stop, run
from siflab.environments.store import Environment
from siflab.errors import Conflict, Internal
from siflab.ownership import is_ours_alone
from siflab.text import Text


def make_venv(wanted: Environment, stop: Stop) -> None:
    """The image's Python may itself be of a virtual environment, whose packages a venv does not inherit: a .pth file
    names its folders, behind the environment's own. Raises Internal where another user could change what is made."""
    wanted.place.mkdir(parents=True, exist_ok=True, mode=0o700)
    require_own(wanted)
    wanted.venv.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    argv = [sys.executable, "-I", "-m", "venv", "--system-site-packages", "--without-pip", str(wanted.venv)]
    code, output = run(argv, stop, env=environment(), cwd="/")
    if code:
        raise _of_os(output) or Internal(_no_venv(output))
    own = next(wanted.venv.glob("lib/python3*/site-packages"))
    folders = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (own / "siflab-image.pth").write_text("".join(f"{path}\n" for path in folders), "utf-8")
    pip = wanted.venv / "bin" / "pip"
    pip.write_text('#!/bin/sh\nexec "${0%/*}/python" -m pip "$@"\n', "utf-8")  # the image's pip, in this environment
    pip.chmod(0o755)


def require_own(environment: Environment) -> None:
    """Raises Internal for one in a folder of another user's, OSError when the folder is not there."""
    if not is_ours_alone(environment.place):
        raise Internal(
            Text(
                f"{environment.place} is not yours alone: its owner is not you, or everybody may write to it, so that "
                "another user could change what your kernels run. Name a folder of your own with --root, or ask your "
                "administrator for this one",
                f"{environment.place} 不是您独有的：它的所有者不是您，或任何人都可以写入，因此其他用户可能改变您的"
                "内核所运行的内容。请用 --root 指定您自己的目录，或请管理员处理该目录",
            )
        )


def check_kernel(done: Environment) -> None:
    look = "import importlib.util, sys; sys.exit(importlib.util.find_spec('ipykernel') is None)"
    argv = [f"{done.venv}/bin/python", "-c", look]
    if subprocess.run(argv, env=environment(), capture_output=True, check=False, cwd="/").returncode:
        raise Conflict(
            Text(
                "the image has no ipykernel, so the environment could not be used in a notebook; add ipykernel to the "
                "packages",
                "镜像中没有 ipykernel，该环境无法在 notebook 中使用；请在软件包中加入 ipykernel",
            )
        )


def _no_venv(words: str) -> Text:
    last = (words.strip().splitlines() or ["no answer"])[-1][:200]
    return Text(
        f"the image's Python could not make a virtual environment ({last}); tell your administrator",
        f"镜像的 Python 无法创建虚拟环境（{last}）；请联系管理员",
    )


def _of_os(text: str) -> Internal | None:
    if "No space left on device" in text:
        return Internal(disk_full())
    return Internal(quota_reached()) if "Disk quota exceeded" in text else None
