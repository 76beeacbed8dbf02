"""The cluster's people: Linux users with homes, and what Slurm lets them use."""

import pwd
import secrets
from pathlib import Path

from cluster.lab.daemons import slurm
from cluster.lab.processes import last_lines, wait_until
from cluster.lab.settings import Settings
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

QOS = (
    "add qos gpu-basic MaxTRESPerUser=gres/gpu=2 MaxJobsPerUser=4 MaxWall=04:00:00",
    "add qos gpu-large Priority=100 MaxTRESPerUser=gres/gpu=8",
    "add qos course Priority=50 MaxTRESPerUser=gres/gpu=1",
)
ACCOUNTS = (
    "add account research Description=research Organization=lab Fairshare=10",
    "add account cs101 Description=course Organization=lab Fairshare=5 GrpTRES=gres/gpu=3",
)
RIGHTS = {
    "research": "QOS=normal,gpu-basic,gpu-large DefaultQOS=normal",
    "cs101": "QOS=course,normal DefaultQOS=course",
}


def exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def make_users(settings: Settings) -> list[str]:
    """Linux users for those who have none; returns whom it made. No password: who wants one sets it."""
    made = []
    for member in settings.members:
        if not exists(member.name):
            run(["useradd", "--create-home", "--shell", "/bin/bash", member.name])
            Path(pwd.getpwnam(member.name).pw_dir).chmod(0o700)
            made.append(member.name)
    return made


def remove_user(name: str) -> None:
    """The user and the home; who is not there is no trouble."""
    if exists(name):
        run(["userdel", "--remove", "--force", name], check=False)
    if exists(name):
        raise Trouble(Text(f"The user {name} could not be removed.", f"无法删除用户 {name}。"))


def new_passwords(names: list[str]) -> dict[str, str]:
    """A random password for each, set by standard input, so that none is in an argument list."""
    chosen = {name: secrets.token_urlsafe(9) for name in names}
    if chosen:
        run(["chpasswd"], stdin="".join(f"{name}:{password}\n" for name, password in chosen.items()))
    return chosen


def seed_commands(settings: Settings) -> list[str]:
    """For one sacctmgr on its standard input: each process of it costs 0.4 s."""
    commands = [*QOS, *ACCOUNTS]
    for member in settings.members:
        for account in member.accounts:
            if account not in RIGHTS:
                known = ", ".join(RIGHTS)
                raise Trouble(
                    Text(f"There is no account {account}; there are {known}.", f"没有账户 {account}；现有：{known}。")
                )
            commands.append(f"add user {member.name} Account={account} {RIGHTS[account]}")
    return [*commands, "quit"]


def associations(settings: Settings) -> set[tuple[str, str]]:
    """The (user, account) pairs that the accounting database has for this cluster."""
    shown = slurm(settings, "sacctmgr", "-nP", "show", "assoc", f"cluster={settings.name}", "format=user,account")
    return {(user, account) for user, _, account in (line.partition("|") for line in shown.splitlines()) if user}


def seed(settings: Settings) -> None:
    """Accounts, QOS and users; whole already: nothing to do. slurmctld has to run, or the GPU limits are refused."""
    wanted = {(member.name, account) for member in settings.members for account in member.accounts}
    if wanted <= associations(settings) and slurm(settings, "sacctmgr", "-nP", "show", "account", "cs101").strip():
        return

    def gpus_known() -> bool:
        return "gpu" in slurm(settings, "sacctmgr", "-nP", "show", "tres", "type=gres", "format=type,name")

    wait_until(Text("gres/gpu in the accounting database", "记账数据库中的 gres/gpu "), gpus_known, 20)
    log: Path = settings.log("accounts")
    done = run(
        ["sacctmgr", "-i"],
        stdin="\n".join(seed_commands(settings)) + "\n",
        env={"SLURM_CONF": str(settings.conf)},
        check=False,
    )
    log.write_text(done.stdout + done.stderr)
    missing = wanted - associations(settings)
    if missing:
        raise Trouble(
            Text(
                f"Slurm's accounts could not be made: {sorted(missing)}.", f"无法建立 Slurm 账户：{sorted(missing)}。"
            ),
            Text.plain(f"{log}:\n{last_lines(log)}"),
        )
