"""How this Hub acts as its users, chosen once when it starts.

*root*: by uid and gid of a child. *self*: the Hub serves the account alone that it runs as. *launcher*: an ordinary
account, through the launcher and sudo.
"""

import os
from dataclasses import dataclass
from typing import Any

from siflab.errors import Internal
from siflab.slurm.execute import PosixUser
from siflab.text import Text
from siflab_spawner.accounts.launcher import Launcher
from siflab_spawner.accounts.launcher_checks import examine

PROGRAM = "/usr/local/libexec/siflab-launcher"
WAYS = ("auto", "root", "self", "launcher")
SYSTEM, NOBODY = 1000, 65534
"""Accounts of people have uids between; login.defs(5), UID_MIN. Larger ones than 65535 are people's again."""
SERVICES = frozenset({"slurm", "munge", "nobody"})
"""Whoever acts as the first is Slurm's administrator; Debian gives it a uid among people's."""


@dataclass(frozen=True)
class Acting:
    """`launcher` is None where a child gets the user's uid and gid, or is the Hub's own account; `trouble` says why
    there is no way to act as anybody."""

    launcher: Launcher | None = None
    trouble: Text | None = None

    def refusal(self, user: PosixUser) -> Text | None:
        """Why nothing is done as this account; None if it is."""
        if user.uid == 0:
            return Text("no session is started for root", "不为 root 启动会话")
        if self.trouble is not None:
            return self.trouble
        if self.launcher is not None:
            return self.launcher.refusal(user)
        if user.uid != os.geteuid() and _is_of_the_system(user):
            return Text(
                f"{user.name!r} is an account of the system (uid {user.uid}); no session is started for it",
                f"{user.name!r} 是系统账户（uid {user.uid}）；不为其启动会话",
            )
        if os.geteuid() not in (0, user.uid):
            return Text(
                f"the Hub does not run as root and cannot act as {user.name!r}; ask your administrator",
                f"Hub 不是以 root 运行，不能以 {user.name!r} 的身份操作；请联系管理员",
            )
        return None


def _is_of_the_system(user: PosixUser) -> bool:
    return user.uid < SYSTEM or user.uid in (NOBODY, NOBODY + 1) or user.name in SERVICES


_chosen: Acting | None = None


def choose(way: str = "auto", program: str = PROGRAM) -> Acting:
    """The way of this Hub from here on. Raises Internal with what to do when there is none."""
    global _chosen
    _chosen = _look(way, program)
    return _chosen


def current_acting() -> Acting:
    """What was chosen; before a Hub has chosen, the process acts by uid and gid, as far as it can."""
    return _chosen or Acting()


def _look(way: str, program: str) -> Acting:
    is_root = os.geteuid() == 0
    if way == "self" or (is_root and way in ("auto", "root")):
        return Acting()
    if is_root:
        raise Internal(
            Text(
                "the Hub runs as root and needs no launcher; remove c.SingularitySlurmSpawner.acting = 'launcher', "
                "or run the Hub as an ordinary account",
                "Hub 以 root 运行，不需要启动器；请删除 c.SingularitySlurmSpawner.acting = 'launcher'，"
                "或以普通账户运行 Hub",
            )
        )
    if way == "launcher" or (way == "auto" and os.path.lexists(program)):
        return Acting(examine(program))
    raise Internal(
        Text(
            f"the Hub does not run as root and there is no launcher at {program}, so it cannot act as its users. "
            "Install the launcher (launcher/install, see docs/hub-account.md), run the Hub as root, or, for a Hub that "
            "serves only the account that it runs as, set c.SingularitySlurmSpawner.acting = 'self'",
            f"Hub 不是以 root 运行，{program} 处也没有启动器，因此无法以用户身份操作。请安装启动器（launcher/install，"
            "见 docs/hub-account.zh-CN.md），或以 root 运行 Hub；若 Hub 只服务于其自身账户，请设置 "
            "c.SingularitySlurmSpawner.acting = 'self'",
        )
    )


def choose_for(spawner: Any) -> None:
    """For a spawner of a Hub that did not choose at its start, since the class is wrapped by another: as the first one
    is configured. Where there is no way, all users are refused with the reason."""
    global _chosen
    if _chosen is None:
        try:
            choose(spawner.acting, spawner.launcher)
        except Internal as error:
            spawner.log.critical("siflab: %s", error.message.en)
            _chosen = Acting(trouble=error.message)


def begin() -> None:
    """Have each Hub of this spawner class choose when it starts; without a way it ends, with the reason."""
    from siflab_spawner.hub_start import when_configured

    when_configured(_at_start)


def _at_start(app: Any) -> None:
    from siflab_spawner.hub_start import is_used
    from siflab_spawner.spawner import SingularitySlurmSpawner

    if not is_used(app, SingularitySlurmSpawner):
        return
    settings: dict[str, Any] = {}
    for owner in reversed(app.spawner_class.mro()):
        settings.update(app.config.get(owner.__name__, {}))
    try:
        acting = choose(settings.get("acting", "auto"), settings.get("launcher", PROGRAM))
    except Internal as error:
        app.log.critical("siflab: %s. %s。", error.message.en, error.message.zh)
        raise SystemExit(1) from None
    if acting.launcher is not None:
        app.log.info(
            "siflab: users of the group %s are served through %s", acting.launcher.group, acting.launcher.program
        )
