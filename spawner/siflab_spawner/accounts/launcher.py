"""The launcher, as the Hub calls it: through sudo, as the user, with JSON both ways (launcher/siflab-launcher)."""

import asyncio
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from traitlets.log import get_logger

from siflab.errors import Internal
from siflab.slurm.bounded import TooMuch, communicate
from siflab.slurm.execute import Completed, PosixUser
from siflab.text import Text
from siflab_spawner.accounts.launcher_request import NoSuchCommand, request_of

VERSION = 1
TIME_LIMIT = 120  # seconds that the launcher allows at most
_GRACE = 15.0  # seconds after its own time limit until the launcher is given up
ENVIRONMENT = {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL": "C"}
_left: set[asyncio.Future[int]] = set()


class Refused(Exception):
    """sudo or the launcher said no; nothing was done."""


class NoAnswer(Exception):
    """Whether anything was done is not known."""


@dataclass(frozen=True)
class Launcher:
    """A launcher that was looked at (`launcher_checks.examine`). `gid` is the group whose members it serves."""

    program: str
    sudo: str
    group: str
    gid: int
    min_uid: int

    def refusal(self, user: PosixUser) -> Text | None:
        """Why it would refuse this account, in plain words; None if it would not."""
        if user.uid < self.min_uid:
            return Text(
                f"no session is started for the system account {user.name!r} (uid below {self.min_uid})",
                f"不为系统账户 {user.name!r} 启动会话（uid 小于 {self.min_uid}）",
            )
        if self.gid not in user.groups:
            return _not_in_group(user, self.group)
        return None

    async def arun(self, argv: Sequence[str], user: PosixUser, stdin: str | None, timeout: float) -> Completed:
        """A Slurm command as `user` (`Slurm.through`). Raises Internal when a job was refused before Slurm saw it; all
        else is told as the command's failure."""
        try:
            request = request_of(argv, stdin)
            answer = await self.ask(user, request, timeout)
            code, out, err = answer["returncode"], answer["stdout"], answer["stderr"]
            if not (isinstance(code, int) and isinstance(out, str) and isinstance(err, str)):
                raise NoAnswer("no answer that can be read")
            return Completed(tuple(argv), code, out, err)
        except (Refused, NoSuchCommand) as error:
            words = f"not run by the launcher as {user.name}: {error}"
            get_logger().error("siflab: %s: %s", argv[0], words)
            if isinstance(error, Refused) and request["command"] == "submit":
                raise Internal(_told(user, str(error))) from error
            return Completed(tuple(argv), 1, "", words)
        except (NoAnswer, KeyError) as error:
            return Completed(tuple(argv), 124, "", f"{argv[0]}: no answer of the launcher: {error}")

    async def run_task(self, user: PosixUser, task: str, arguments: dict[str, Any], timeout: float) -> dict[str, Any]:
        """One of the tasks of user_child.py. Raises Internal."""
        request = {"command": "log-tail" if task == "tail" else task, **arguments}
        request.pop("log_folder", None)  # the launcher makes the one that it knows
        try:
            answer = (await self.ask(user, request, timeout)).get("answer")
        except Refused as error:
            raise Internal(_told(user, str(error))) from error
        except NoAnswer as error:
            raise Internal(_no_look(user, str(error))) from error
        if not isinstance(answer, dict):
            raise Internal(_no_look(user, "no answer that can be read"))
        return answer

    async def ask(self, user: PosixUser, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The launcher's answer. Raises Refused or NoAnswer."""
        if user.name.startswith(("#", "-")):  # sudo would take it for a number, or for an option
            raise Refused(f"{user.name!r} is no name of an account")
        limit = max(1, min(math.ceil(timeout), TIME_LIMIT))
        whole = {"version": VERSION, "user": user.name, "timeout": limit, **request}
        try:
            process = await asyncio.create_subprocess_exec(
                *(self.sudo, "-n", "-u", user.name, "--", self.program),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd="/",
                env=ENVIRONMENT,
                start_new_session=True,
            )
        except OSError as error:
            raise Refused(str(error)) from error
        try:
            out, err = await asyncio.wait_for(communicate(process, json.dumps(whole).encode()), limit + _GRACE)
        except asyncio.TimeoutError:
            raise NoAnswer(f"none within {limit} s") from None
        except TooMuch as error:
            raise NoAnswer(str(error)) from error
        finally:
            _leave(process)
        return _read(out, err.decode("utf-8", "replace"), process.returncode or 0)


def _read(out: bytes, err: str, code: int) -> dict[str, Any]:
    lines = err.strip().splitlines()
    try:
        answer = json.loads(out) if out else None
    except (ValueError, RecursionError):
        answer = None
    if isinstance(answer, dict) and answer.get("version") == VERSION:
        for line in lines:
            get_logger().info("siflab: %s", line)  # where there is no system log, the launcher tells its caller
        if "refused" in answer:
            raise Refused(str(answer.get("message", ""))[:500])
        return answer
    words = (lines or [f"exit code {code}"])[-1][:300]
    if not out and code == 1 and (words.startswith(("sudo:", "Sorry,"))):
        raise Refused(words)
    raise NoAnswer(words)


def _leave(process: asyncio.subprocess.Process) -> None:
    """sudo and the launcher are other accounts' processes that the Hub cannot end; they end by their own time limit."""
    if process.returncode is None:
        waiting = asyncio.ensure_future(process.wait())
        _left.add(waiting)
        waiting.add_done_callback(_left.discard)


def _not_in_group(user: PosixUser, group: str) -> Text:
    return Text(
        f"the account {user.name!r} is not in the group {group!r}, whose members may have sessions here; ask your "
        "administrator to add it",
        f"账户 {user.name!r} 不在用户组 {group!r} 中，只有该组成员可以在此使用会话；请联系管理员添加",
    )


def _told(user: PosixUser, words: str) -> Text:
    return Text(
        f"the Hub may not act as {user.name!r}: {words}. Ask your administrator (siflab-launcher, sudo)",
        f"Hub 不能以 {user.name!r} 的身份操作：{words}。请联系管理员（siflab-launcher、sudo）",
    )


def _no_look(user: PosixUser, words: str) -> Text:
    return Text(
        f"the files of {user.name} could not be looked at ({words}); if a file system hangs, try again later",
        f"无法查看 {user.name} 的文件（{words}）；若文件系统无响应，请稍后再试",
    )
