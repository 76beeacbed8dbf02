"""Whether Slurm shows the Hub's account the jobs of others (``PrivateData=jobs`` in slurm.conf hides them)."""

import logging
import os
import pwd
import re

from siflab.slurm.commands import sacctmgr_admin_level, scontrol_config
from siflab.slurm.execute import PosixUser
from siflab_spawner.watch.evidence import Ask

_LINE = re.compile(r"^(\w+)\s*=\s*(.*?)\s*$", re.MULTILINE | re.ASCII)
_UID = re.compile(r"\((\d+)\)$", re.ASCII)
_LEVELS = ("operator", "administrator", "admin")


async def sees_all_jobs(slurm: Ask, account: PosixUser | None = None) -> bool | None:
    """True where the Hub's account sees everybody's jobs, False where they are hidden, None where that cannot be told
    now. `account`: another than that of this process."""
    uid = os.geteuid() if account is None else account.uid
    if uid == 0:
        return True
    shown = await slurm.arun(scontrol_config())
    config = dict(_LINE.findall(shown.stdout)) if shown.ok else {}
    if "PrivateData" not in config:
        return None
    hidden = {word.strip().lower() for word in config["PrivateData"].split(",")}
    if "jobs" not in hidden and "all" not in hidden:
        return True
    slurm_user = _UID.search(config.get("SlurmUser", ""))
    if slurm_user and int(slurm_user[1]) == uid:
        return True
    name = _name_of(uid) if account is None else account.name
    if not name:
        return False
    told = await slurm.arun(sacctmgr_admin_level(name))
    if not told.ok or "error" in told.stderr.lower():
        return None
    return told.stdout.strip().lower() in _LEVELS


def tell_hidden(log: logging.Logger, a_minute: int) -> None:
    name = _name_of(os.geteuid()) or f"uid {os.geteuid()}"
    log.warning(
        "siflab: Slurm hides the jobs of other users from the Hub's account %s (PrivateData in slurm.conf). Each "
        "user's sessions are asked for separately, as that user, %d queries a minute at most: ends are noticed later "
        "and slurmctld is busier. Better: sacctmgr modify user where name=%s set adminlevel=Operator, and restart "
        "the Hub.",
        name,
        a_minute,
        name,
    )


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""
