"""What this machine shows of a Slurm or munge that somebody else has set up, and of people; it decides nothing."""

import os
import pwd
import socket
from dataclasses import dataclass
from pathlib import Path

from cluster.instance.names import STATE, Instance
from cluster.lab import processes
from cluster.lab.trouble import run

# slurmstepd is left out: it writes its title over its environment, and there is none without a slurmd.
DAEMONS = ("slurmctld", "slurmdbd", "slurmd", "slurmrestd", "munged")
CONFIGURATIONS = (
    *("/etc/slurm/slurm.conf", "/etc/slurm/slurmdbd.conf", "/etc/slurm-llnl/slurm.conf"),
    *("/usr/local/etc/slurm.conf", "/opt/slurm/etc/slurm.conf", "/usr/local/slurm/etc/slurm.conf"),
)
DAY = 86400


@dataclass(frozen=True)
class Key:
    """/etc/munge/munge.key, and when Debian's package made what it makes by itself (seconds since 1970; 0: unknown)."""

    written: float
    package_installed: float
    user_made: float


@dataclass(frozen=True)
class Evidence:
    """All that the decision rests on; a test writes one down by hand."""

    daemons: tuple[str, ...] = ()  # "munged (pid 12)", not ours
    configurations: tuple[str, ...] = ()
    slurm_conf: str | None = None  # SLURM_CONF of this shell, where it is not ours
    key: Key | None = None
    changed_munge_files: tuple[str, ...] = ()  # conffiles of the package that are not as it brought them
    users_without_package: tuple[str, ...] = ()  # slurm or munge, though no package made them
    people: tuple[str, ...] = ()  # the instance's names that exist, or whose homes do
    ports: tuple[int, ...] = ()  # those of the instance on which somebody listens
    files: tuple[str, ...] = ()  # files that the instance would write, and that are there


def ours(pid: int) -> bool:
    """Whether a process belongs to a cluster that this program has started, an instance or another."""
    return processes.mark_of(pid) is not None


def foreign_daemons() -> tuple[str, ...]:
    found = []
    for pid in processes.all_pids():
        try:
            name = Path(f"/proc/{pid}/comm").read_text().strip()
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if name in DAEMONS and state != "Z" and not ours(pid):
            found.append(f"{name} (pid {pid})")
    return tuple(found)


def munge_key() -> Key | None:
    path = Path("/etc/munge/munge.key")
    try:
        written = path.stat().st_mtime
    except OSError:
        return None
    listed = Path("/var/lib/dpkg/info/munge.list")
    return Key(written, listed.stat().st_mtime if listed.exists() else 0.0, user_made("munge"))


def user_made(name: str) -> float:
    """The day on which a system user was made: that of its last change of password (shadow(5)); it never had one."""
    try:
        for line in Path("/etc/shadow").read_text().splitlines():
            words = line.split(":")
            if words[0] == name and words[2]:
                return float(words[2]) * DAY
    except (OSError, IndexError, ValueError):
        pass
    return 0.0


def changed_conffiles(package: str) -> tuple[str, ...]:
    shown = run(["dpkg-query", "-W", "-f", "${Conffiles}\n", package], check=False).stdout
    changed = []
    for line in shown.splitlines():
        words = line.split()
        if len(words) == 2 and words[0].startswith("/etc/default/"):
            now = run(["md5sum", words[0]], check=False).stdout.split()
            if now and now[0] != words[1]:
                changed.append(words[0])
    return tuple(changed)


def has_package(prefix: str) -> bool:
    shown = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", f"{prefix}*"], check=False).stdout
    return any(not line.startswith("not-installed") for line in shown.splitlines())


def known(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def listening(port: int) -> bool:
    """Whether somebody listens on that port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def gather(instance: Instance, made_users: set[str], files: tuple[str, ...], running: bool) -> Evidence:
    """Look around. `made_users`: in the manifest; `files`: in the way; `running`: the ports are the instance's."""
    set_conf = os.environ.get("SLURM_CONF")
    people = [
        member.name
        for member in instance.members
        if member.name not in made_users and (known(member.name) or Path(f"/home/{member.name}").exists())
    ]
    ports = (instance.public_port, instance.proxy_api_port, instance.cluster().database_port)
    return Evidence(
        daemons=foreign_daemons(),
        configurations=tuple(path for path in CONFIGURATIONS if Path(path).exists()),
        slurm_conf=set_conf if set_conf and not set_conf.startswith(f"{STATE}/") else None,
        key=munge_key(),
        changed_munge_files=changed_conffiles("munge"),
        users_without_package=tuple(name for name in ("slurm", "munge") if known(name) and not has_package(name)),
        people=tuple(people),
        files=files,
        ports=() if running else tuple(port for port in ports if listening(port)),
    )
