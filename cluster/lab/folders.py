"""The cluster's folders, keys and configuration: whose they are, in which mode (each daemon insists on its own)."""

import os
import secrets
import shutil
import socket
import stat
from pathlib import Path

from cluster.lab import slurm_conf
from cluster.lab.settings import Settings
from cluster.lab.trouble import Trouble
from siflab.text import Text


def owned(path: Path, owner: str, mode: int) -> Path:
    """A folder of that owner and mode, made if it is not there."""
    path.mkdir(parents=True, exist_ok=True)
    shutil.chown(path, owner, owner)
    path.chmod(mode)
    return path


def secret_file(path: Path, owner: str, content: bytes | None = None, length: int = 32) -> None:
    """A file that only `owner` reads: `content`, or random bytes that are made once and then kept."""
    if content is None:
        if path.exists() and path.stat().st_size == length:
            return
        content = secrets.token_bytes(length)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    shutil.chown(fresh, owner, owner)
    fresh.replace(path)


def check_root(root: Path) -> None:
    """slurmd and munged refuse a folder whose parents others could write to, and users must be able to enter it."""
    for parent in [root, *root.parents]:
        if not parent.exists():
            continue
        mode = parent.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise Trouble(
                Text(
                    f"Everyone may write to {parent}, so munged refuses it.",
                    f"所有人都可写 {parent}，munged 会拒绝它。",
                ),
                Text("Choose another root folder (--root).", "请用 --root 另选一个目录。"),
            )
        if not mode & stat.S_IXOTH:
            raise Trouble(
                Text(
                    f"Ordinary users cannot enter {parent}, so their jobs would not find the cluster's files.",
                    f"普通用户无法进入 {parent}，他们的作业将找不到集群的文件。",
                ),
                Text("Choose another root folder (--root).", "请用 --root 另选一个目录。"),
            )


def make_folders(settings: Settings) -> None:
    root = settings.root
    check_root(root)
    for name in (".", "etc", "run", "spool", "dev"):
        owned(root / name, "root", 0o755)
    owned(root / "log", "slurm", 0o755)
    owned(root / "state", "slurm", 0o755)
    owned(root / "keys", "slurm", 0o700)
    owned(root / "db", "mysql", 0o750)
    owned(root / "munge", "munge", 0o755)
    owned(root / "munge" / "run", "munge", 0o755)
    owned(root / "munge" / "key", "munge", 0o700)
    for node in settings.nodes:
        owned(root / "spool" / node.name, "root", 0o755)
        owned(root / "etc" / node.name, "root", 0o755)


def database_password(settings: Settings) -> str:
    path = settings.root / "keys" / "database"
    if not path.exists():
        secret_file(path, "slurm", secrets.token_urlsafe(24).encode())
    return path.read_text()


def jwt_plugin() -> bool:
    return any(Path("/usr/lib").glob("*/slurm-wlm/auth_jwt.so"))


def host_name() -> str:
    return socket.gethostname().partition(".")[0]


def node_hosts(settings: Settings) -> str:
    """/etc/hosts as the nodes see it (each has a mount namespace); the machine's own file is never touched."""
    head = f"{settings.head_address} {host_name()} {settings.name}-head\n"
    return "127.0.0.1 localhost\n" + head + "".join(f"{settings.address(n)} {n.name}\n" for n in settings.nodes)


def write_files(settings: Settings) -> None:
    """Keys once; configuration afresh each time, since the machine's name may have changed."""
    etc = settings.root / "etc"
    secret_file(settings.root / "munge" / "key" / "munge.key", "munge", length=1024)
    secret_file(settings.root / "keys" / "jwt_hs256.key", "slurm", length=32)
    host = slurm_conf.Host(host_name(), jwt_plugin())
    dbd = slurm_conf.slurmdbd_conf(settings, host, database_password(settings))
    secret_file(etc / "slurmdbd.conf", "slurm", dbd.encode())
    (etc / "slurm.conf").write_text(slurm_conf.slurm_conf(settings, host))
    (etc / "gres.conf").write_text(slurm_conf.gres_conf(settings))
    (etc / "cgroup.conf").write_text(slurm_conf.cgroup_conf(settings))
    (etc / "hosts").write_text(node_hosts(settings))
    # Nodes reach no name server: a look-up that the hosts file does not answer fails at once instead of after 20 s.
    (etc / "resolv.conf").write_text("options timeout:1 attempts:1\n")
