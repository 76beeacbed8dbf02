"""A Debian root folder by mmdebstrap, and commands in it with this machine's own pip settings.

Whoever calls has a private mount namespace (images/build sees to it), so no mount outlives the build, however it ends.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.lab.trouble import Trouble, run
from siflab.text import Text

# What pip's behaviour may depend on. By name, not by pattern: "PIP_*" would also pass on variables of other programs.
PASSED_ON = (
    *("PIP_CERT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONSTRAINT", "PIP_CONFIG_FILE"),
    *("PIP_DEFAULT_TIMEOUT", "PIP_TRUSTED_HOST", "PIP_NO_INDEX", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"),
    *("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"),
)
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")


def mirror() -> str:
    """The Debian mirror that this machine's own apt uses."""
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(), re.MULTILINE))
    shown = run(["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)"]).stdout
    for line in shown.splitlines():
        name, _, uri = line.partition(" ")
        if name == release.get("VERSION_CODENAME"):
            return uri
    raise Trouble(
        Text("This machine's apt has no Debian mirror among its sources.", "本机 apt 的软件源中没有 Debian 镜像。"),
        Text("Add one to /etc/apt/sources.list.d.", "请在 /etc/apt/sources.list.d 中添加。"),
    )


def make_base(suite: str, packages: tuple[str, ...], target: Path) -> None:
    """A minimal Debian without manuals and translations."""
    leave_out = [f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("man", "doc", "locale", "info")]
    run(
        [
            "mmdebstrap",
            "--quiet",
            "--mode=root",
            "--variant=minbase",
            f"--include={','.join(packages)}",
            *leave_out,
            '--aptopt=Acquire::Languages "none"',
            '--aptopt=Acquire::Check-Valid-Until "false"',
            suite,
            target,
            mirror(),
        ],
        timeout=1800,
    )


def pip_paths() -> list[Path]:
    """Files and folders of this machine that pip's settings lie in or name (local wheels, constraints)."""
    found = [Path("/etc/pip.conf"), Path("/etc/xdg/pip"), Path.home() / ".config" / "pip", Path.home() / ".pip"]
    texts = [os.environ.get(name, "") for name in PASSED_ON if name.startswith("PIP_")]
    for place in found:
        file = place / "pip.conf" if place.is_dir() else place
        texts.append(file.read_text() if file.is_file() else "")
    configured = "\n".join(texts)
    for word in re.findall(r"(?:file://)?(/[A-Za-z0-9._+/-]+)", re.sub(r"https?://\S+", "", configured)):
        path = Path(word)
        found.append(path.parent if path.name == "simple" else path)
    return [path for path in dict.fromkeys(found) if path.exists()]


@contextmanager
def entered(root: Path) -> Iterator[None]:
    """This machine's resolver, certificate authorities and pip files, and /proc, seen in the root folder meanwhile."""
    mounts: list[Path] = []
    made: list[Path] = []

    def bind(source: Path) -> None:
        target = root / source.relative_to("/")
        for parent in [target, *target.parents]:
            if parent == root or parent.exists():
                break
            made.append(parent)
        if source.is_dir():
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.touch()
        run(["mount", "--bind", source, target])
        mounts.append(target)

    try:
        for path in (Path("/etc/resolv.conf"), AUTHORITIES, *pip_paths()):
            if path.exists():
                bind(path.resolve() if path == Path("/etc/resolv.conf") else path)
        run(["mount", "-t", "proc", "proc", root / "proc"])
        mounts.append(root / "proc")
        yield
    finally:
        for target in reversed(mounts):
            run(["umount", "--lazy", target], check=False)
        for path in made:
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
            elif path.is_file():
                path.unlink()


def inside(root: Path, *argv: str, timeout: float = 1800) -> str:
    """The output of a command in the root folder, with an environment of its own."""
    passed = [f"{name}={os.environ[name]}" for name in PASSED_ON if name in os.environ]
    own = ["HOME=/root", "PATH=/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C.UTF-8"]
    return run(["chroot", root, "env", "-i", *own, *passed, *argv], timeout=timeout).stdout
