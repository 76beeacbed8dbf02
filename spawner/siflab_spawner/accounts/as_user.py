"""Acting as the user of a session: who it is on this machine, and what is looked at with their rights and a time limit.

How the Hub acts as somebody, by uid and gid or through the launcher, is `acting`'s choice.
"""

import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from siflab.errors import Internal
from siflab.slurm.execute import PosixUser, Slurm
from siflab.text import Text
from siflab_spawner.accounts.acting import current_acting
from siflab_spawner.accounts.directory import directory

_SOURCE = Path(__file__).with_name("user_child.py").read_text("utf-8")
_REMEMBERED = 300.0
_known: dict[str, tuple[float, PosixUser]] = {}


async def find_user(name: str) -> PosixUser:
    """The account of this name. Raises Internal when there is none, it cannot be told, or the Hub cannot act as it."""
    at, user = _known.get(name, (0.0, None))
    if user is None or time.monotonic() - at > _REMEMBERED:
        try:
            user = await directory.ask(("account", name), partial(PosixUser.find, name))
        except (KeyError, ValueError):  # ValueError: a name that no account can have
            raise Internal(
                Text(
                    f"there is no account {name!r} on the Hub's machine; ask your administrator to add it",
                    f"Hub 主机上没有账户 {name!r}；请联系管理员添加",
                )
            ) from None
        assert user is not None
        _known[name] = (time.monotonic(), user)
    refusal = current_acting().refusal(user)
    if refusal is not None:
        _known.pop(name, None)  # a group that it was put into meanwhile counts at the next attempt
        raise Internal(refusal)
    return user


async def run_task(slurm: Slurm, user: PosixUser, task: str, timeout: float = 20.0, **arguments: Any) -> dict[str, Any]:
    """Run one task of user_child.py as `user`. Raises Internal when it gives no answer in `timeout` seconds."""
    launcher = current_acting().launcher
    if launcher is not None:
        return await launcher.run_task(user, task, arguments, timeout)
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
