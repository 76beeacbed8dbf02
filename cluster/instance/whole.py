"""An instance as a whole: up, stop and clean."""

import os
import pwd
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from cluster.instance import apptainer, evidence, folders, hub, packages, refusal
from cluster.instance.making import Making
from cluster.instance.manifest import Manifest, others
from cluster.instance.names import STATE, Instance
from cluster.instance.steps import perform
from cluster.lab import people as lab_people
from cluster.lab import processes
from cluster.lab import whole as lab
from cluster.lab.settings import kept_settings
from cluster.lab.trouble import Trouble
from siflab.text import Text

Say = Callable[[Text], None]


def check(instance: Instance, say: Say) -> None:
    """Refuse before anything is changed."""
    manifest = Manifest.of(instance)
    up = bool(processes.marked(instance.root))
    found = evidence.gather(
        instance, set(manifest.entries["users"]), tuple(folders.in_the_way(instance, manifest)), running=up
    )
    why = refusal.reasons(found, beside=os.environ.get(refusal.BESIDE) == "1")
    if shutil.which("apt-get") is None:
        why.append(Text("This is no Debian: there is no apt-get.", "这不是 Debian：没有 apt-get。"))
    if why:
        raise Trouble(refusal.refusal(why))
    if packages.release()[0] != "debian" or packages.release()[1] not in ("12", "13"):
        name = " ".join(packages.release())
        say(
            Text(
                f"Note: tried on Debian 12 and 13, this is {name}.",
                f"注意：仅在 Debian 12 和 13 上试过，本机为 {name}。",
            )
        )


def up(instance: Instance, with_hub: bool, say: Say) -> None:
    check(instance, say)
    making = Making(instance)
    perform(making.steps(with_hub), instance.log, making.spoken)


def tools(instance: Instance) -> None:
    making = Making(instance)
    perform(making.tools(), instance.log, making.spoken)


def image(instance: Instance, name: str, target: Path) -> None:
    making = Making(instance)
    perform(making.one_image(name, target.absolute()), instance.log, making.spoken)


def stop(instance: Instance, say: Say) -> None:
    """End Hub, proxy, sessions, runs and the cluster: no process, mount, network namespace or cgroup stays."""
    begun = time.monotonic()
    hub.stop(instance)
    settings = kept_settings(instance.root / "slurm")
    if settings is not None:
        with lab.alone(settings.root):
            lab.down(settings)
    processes.stop(processes.marked(instance.root), 5)
    took = time.monotonic() - begun
    say(Text(f"Stopped ({instance.name}) in {took:.1f} s.", f"已停止（{instance.name}），用时 {took:.1f} 秒。"))


def end_processes_of(name: str) -> None:
    """Whatever a user that we made still runs on the login node."""
    if not lab_people.exists(name):
        return
    uid = pwd.getpwnam(name).pw_uid
    found = []
    for pid in processes.all_pids():
        try:
            if Path(f"/proc/{pid}").stat().st_uid == uid:
                found.append(pid)
        except OSError:
            continue
    processes.send(found, signal.SIGKILL)
    processes.wait_for_end(found, 5)


def clean(instance: Instance, keep_cache: bool, say: Say) -> None:
    """Stop, and remove what the manifest lists, and nothing else. Debian packages stay, and are named."""
    stop(instance, say)
    manifest = Manifest.of(instance)
    for name in list(manifest.entries["users"]):
        end_processes_of(name)
        lab_people.remove_user(name)
        manifest.drop("users", name)
    for kind in ("links", "files"):
        for path in list(manifest.entries[kind]):
            Path(path).unlink(missing_ok=True)
            manifest.drop(kind, path)
    for path in sorted(manifest.entries["folders"], key=len, reverse=True):
        shutil.rmtree(path, ignore_errors=True)
        manifest.drop("folders", path)
    apptainer.restore_modes(manifest)
    shared = {path for other in others(instance) for path in other.entries["caches"]}
    for path in list(manifest.entries["caches"]):
        if not keep_cache and path not in shared:
            shutil.rmtree(path, ignore_errors=True)
    left = manifest.entries["packages"]
    shutil.rmtree(instance.root, ignore_errors=True)
    if STATE.is_dir() and not any(STATE.iterdir()):
        STATE.rmdir()
    say(Text("Removed what the manifest listed.", "已删除清单中列出的全部内容。"))
    if left:
        names = " ".join(left)
        say(
            Text(
                f"Debian packages that came in stay; to remove them: apt-get purge {names}",
                f"已安装的 Debian 软件包予以保留；如需删除：apt-get purge {names}",
            )
        )
