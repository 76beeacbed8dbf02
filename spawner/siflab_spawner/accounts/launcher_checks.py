"""Whether the launcher can be used and trusted, looked at when the Hub starts."""

import grp
import json
import os
import pwd
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

from siflab.errors import Internal
from siflab.text import Text
from siflab_spawner.accounts.launcher import ENVIRONMENT, VERSION, Launcher

_LIMIT = 15  # seconds


def examine(program: str, owner: int = 0) -> Launcher:
    """The launcher at this path. Raises Internal with what is wrong and what to do."""
    _check_file(program, owner)
    served = _shake_hands(program)
    sudo = shutil.which("sudo", path=ENVIRONMENT["PATH"])
    if sudo is None:
        raise Internal(
            Text(
                "the launcher is there, but sudo is not: install sudo",
                "启动器已安装，但没有 sudo：请安装 sudo",
            )
        )
    _check_sudo(sudo, program)
    group = str(served["group"])
    return Launcher(program, sudo, group, grp.getgrnam(group).gr_gid, int(served["min_uid"]))


def _check_file(program: str, owner: int) -> None:
    """The file, and each folder above it, can be changed by root alone."""
    try:
        for path in (Path(program), *Path(program).parents):
            status = path.lstat()
            loose = status.st_mode & 0o022 and not (path != Path(program) and status.st_mode & stat.S_ISVTX)
            if status.st_uid not in (0, owner) or loose or stat.S_ISLNK(status.st_mode):
                raise Internal(
                    Text(
                        f"the launcher {program} cannot be trusted: {path} must belong to root, be no link and be "
                        "written by nobody else. Install it with launcher/install",
                        f"启动器 {program} 不可信：{path} 必须属于 root，不能是链接，且其他人不可写。"
                        "请用 launcher/install 安装",
                    )
                )
        if not os.access(program, os.X_OK):
            raise PermissionError(f"{program} cannot be executed")
    except OSError as error:
        raise Internal(
            Text(
                f"there is no launcher that can be used ({error}). Install it with launcher/install",
                f"没有可用的启动器（{error}）。请用 launcher/install 安装",
            )
        ) from error


def _shake_hands(program: str) -> dict[str, Any]:
    """Called by the Hub itself, without sudo, the launcher refuses; it says so, its version and whom it serves."""
    answer: Any = None
    words = ""
    try:
        done = subprocess.run(
            [program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=ENVIRONMENT,
            cwd="/",
            timeout=_LIMIT,
            check=False,
        )
        words = done.stderr.decode("utf-8", "replace").strip()[-300:]
        answer = json.loads(done.stdout)
    except (OSError, ValueError, RecursionError, subprocess.TimeoutExpired) as error:
        words = words or str(error)
    if not isinstance(answer, dict) or "version" not in answer:
        raise Internal(
            Text(
                f"the launcher {program} does not answer as it should ({words}). Install it again with "
                "launcher/install",
                f"启动器 {program} 没有给出应有的回答（{words}）。请用 launcher/install 重新安装",
            )
        )
    if answer["version"] != VERSION:
        raise Internal(
            Text(
                f"the launcher {program} speaks version {answer['version']!r}, this Hub version {VERSION}. Install "
                "that of this Siflab with launcher/install",
                f"启动器 {program} 的版本为 {answer['version']!r}，此 Hub 的版本为 {VERSION}。请用本版 Siflab 的 "
                "launcher/install 重新安装",
            )
        )
    served = answer.get("served")
    if answer.get("refused") != "caller" or not isinstance(served, dict):
        raise Internal(
            Text(
                f"the launcher {program} cannot be used: {answer.get('message')}. Run launcher/install again",
                f"启动器 {program} 不可用：{answer.get('message')}。请重新运行 launcher/install",
            )
        )
    own = pwd.getpwuid(os.geteuid()).pw_name
    if served.get("account") != own:
        raise Internal(
            Text(
                f"the launcher {program} is for a Hub that runs as {served.get('account')!r}, and this one runs as "
                f"{own!r}. Run the Hub as that account, or launcher/install --account {own}",
                f"启动器 {program} 供以 {served.get('account')!r} 运行的 Hub 使用，而此 Hub 以 {own!r} 运行。"
                f"请以该账户运行 Hub，或执行 launcher/install --account {own}",
            )
        )
    return served


def _check_sudo(sudo: str, program: str) -> None:
    """sudo lists the launcher among what this account may run without a password."""
    try:
        done = subprocess.run(
            [sudo, "-n", "-l"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=ENVIRONMENT,
            timeout=_LIMIT,
            check=False,
        )
        listed, words = done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace").strip()[-300:]
    except (OSError, subprocess.TimeoutExpired) as error:
        listed, words = "", str(error)
    rules = " ".join(listed.split()).partition("may run the following commands")[2]
    if "NOPASSWD:" not in rules or program not in rules.split():
        raise Internal(
            Text(
                f"sudo does not let this account run {program} without a password"
                f"{f' ({words})' if words else ''}. Run launcher/install again, and look at what `sudo -n -l` says",
                f"sudo 不允许此账户免密运行 {program}{f'（{words}）' if words else ''}。请重新运行 launcher/install，"
                "并查看 sudo -n -l 的输出",
            )
        )
