"""Acting as the user of a session: who it is on this machine, and a child process with their rights and a time limit.

Today the Hub must run as root to act as another user: the child gets the user's uid, gid and groups, no sudo is used. A
Hub that is not root serves only the account that it runs as.
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from siflab.errors import Internal
from siflab.slurm.execute import PosixUser, Slurm
from siflab.text import Text

_SOURCE = Path(__file__).with_name("user_child.py").read_text("utf-8")
_FIND_LIMIT = 15.0  # seconds for a directory service (LDAP, SSSD) to answer
_REMEMBERED = 300.0
_known: dict[str, tuple[float, PosixUser]] = {}


async def find_user(name: str) -> PosixUser:
    """The account of this name. Raises Internal when there is none, it cannot be told, or the Hub cannot act as it."""
    at, user = _known.get(name, (0.0, None))
    if user is None or time.monotonic() - at > _REMEMBERED:
        try:
            user = await asyncio.wait_for(asyncio.to_thread(PosixUser.find, name), _FIND_LIMIT)
        except KeyError:
            raise Internal(
                Text(
                    f"there is no account {name!r} on the Hub's machine; ask your administrator to add it",
                    f"Hub 主机上没有账户 {name!r}；请联系管理员添加",
                )
            ) from None
        except asyncio.TimeoutError:
            raise Internal(
                Text(
                    f"the account {name!r} could not be looked up in {_FIND_LIMIT:.0f} s; try again, and tell your "
                    "administrator that the directory service does not answer",
                    f"{_FIND_LIMIT:.0f} 秒内未能查到账户 {name!r}；请重试，并告知管理员目录服务没有响应",
                )
            ) from None
        _known[name] = (time.monotonic(), user)
    if user.uid == 0:
        raise Internal(Text("no session is started for root", "不为 root 启动会话"))
    if os.geteuid() not in (0, user.uid):
        raise Internal(
            Text(
                f"the Hub does not run as root and cannot act as {name!r}; ask your administrator",
                f"Hub 不是以 root 运行，不能以 {name!r} 的身份操作；请联系管理员",
            )
        )
    return user


async def run_task(slurm: Slurm, user: PosixUser, task: str, timeout: float = 20.0, **arguments: Any) -> dict[str, Any]:
    """Run one task of user_child.py as `user`. Raises Internal when it gives no answer in `timeout` seconds."""
    request = json.dumps({"task": task, **arguments})
    words = ""
    for python in _pythons():
        done = await slurm.arun([python, "-I", "-S", "-c", _SOURCE], user=user, stdin=request, timeout=timeout)
        if done.ok:
            try:
                answer = json.loads(done.stdout)
            except ValueError:
                words = "no answer that can be read"
                break
            if isinstance(answer, dict):
                return answer
        words = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        if done.returncode != 127:  # 127: this Python cannot be run by the user, try the next
            break
    raise Internal(
        Text(
            f"the files of {user.name} could not be looked at ({words[:300]}); if a file system hangs, try again later",
            f"无法查看 {user.name} 的文件（{words[:300]}）；若文件系统无响应，请稍后再试",
        )
    )


def _pythons() -> list[str]:
    """Pythons that a user may be able to run: the Hub's own may lie where only root can go."""
    return list(dict.fromkeys([sys.executable, "/usr/bin/python3", "/usr/libexec/platform-python"]))
