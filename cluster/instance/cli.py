"""`cluster/demo`: set an instance up, stop it, remove it."""

import argparse
import fcntl
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cluster.instance import hub, packages, people, whole
from cluster.instance.names import INSTANCES, Instance, named
from cluster.instance.steps import StepFailed
from cluster.lab import whole as lab
from cluster.lab.settings import kept_settings
from cluster.lab.trouble import Trouble
from siflab.text import Text, terminal_language

EPILOG = """
  up         install what is missing, start what does not run, build what has changed; ends with address and users
  stop       end everything; no process, mount, network namespace or cgroup stays
  clean      stop, and remove what the instance created (its manifest.json says what)
  status     what runs
  env        environment of the tests, for eval
  users      the users and their passwords (root only)
  tools      only what unit tests and linters need
  image NAME FILE   build an image into FILE
"""


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(
        prog="cluster/demo",
        description="A Slurm cluster with JupyterHub on this machine. Runs as root, needs no systemd.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--instance", default="demo", choices=list(INSTANCES), help="demo (default) or test")
    options.add_argument("--no-hub", action="store_true", help="up: all but JupyterHub")
    options.add_argument("--keep-cache", action="store_true", help="clean: keep downloads and built images")
    options.add_argument("command", choices=["up", "stop", "clean", "status", "env", "users", "tools", "image"])
    options.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    return options


def say(text: Text) -> None:
    print(text.to(terminal_language()), flush=True)


def welcome(instance: Instance) -> None:
    port = instance.public_port
    say(Text(f"\nReady: {instance.public_url}", f"\n已就绪：{instance.public_url}"))
    show_users(instance)
    say(
        Text(
            f"Only this machine reaches it; from elsewhere: ssh -L {port}:127.0.0.1:{port} HOST",
            f"只有本机可以访问；从别处访问：ssh -L {port}:127.0.0.1:{port} 主机",
        )
    )
    say(Text("Stop: make stop. Remove: make demo-clean.", "停止：make stop。删除：make demo-clean。"))


def show_users(instance: Instance) -> None:
    for name, password in people.passwords(instance).items():
        print(f"  {name:16} {password}")


def show_status(instance: Instance) -> int:
    settings = kept_settings(instance.root / "slurm")
    states = lab.status(settings) if settings else []
    states.append(("jupyterhub", hub.running(instance)))
    for role, pid in states:
        print(f"{role:18} {f'up   pid {pid}' if pid else 'down'}")
    return 0 if all(pid for _, pid in states) else 1


def environment(instance: Instance) -> dict[str, str]:
    """What the tests under tests/ read; they run on any cluster that gives them this."""
    settings = kept_settings(instance.root / "slurm") or instance.cluster()
    shown = {
        "PATH": packages.path_with_node(),
        "SLURM_CONF": settings.conf,
        "SIFLAB_TEST_ROOT": instance.root,
        "SIFLAB_TEST_CLUSTER": settings.root,
        "SIFLAB_TEST_URL": instance.public_url,
        "SIFLAB_TEST_SITE": instance.site,
        "SIFLAB_TEST_PASSWORDS": instance.passwords,
        "SIFLAB_TEST_USERS": " ".join(member.name for member in instance.members),
        "SIFLAB_TEST_HUB_ADDRESS": settings.head_address,
        "SIFLAB_TEST_BINDS": f"/home:/workspace {instance.scratch}:/tmpdata {instance.dataset}:/datasets:ro",
        "SIFLAB_TEST_CHP": hub.proxy_command(instance),
        "SIFLAB_TEST_PYTHON": "/opt/jupyter/bin/python3",
        "SIFLAB_TEST_DEMO_IMAGE": instance.image("pytorch-cpu"),
        "SIFLAB_TEST_NODES": " ".join(node.name for node in settings.nodes),
    }
    if instance.image("stock").exists():
        shown["SIFLAB_TEST_IMAGE"] = instance.image("stock")
    if not instance.machine_wide:
        shown["SIFLAB_TEST_OLDER_IMAGES"] = instance.root / "images"
        shown["SIFLAB_TEST_OLDER_HUB"] = instance.older_venv / "bin" / "python"
    return {name: str(value) for name, value in shown.items()}


def perform(options: argparse.Namespace) -> int:
    instance = named(options.instance)
    if options.command == "env":
        for name, value in environment(instance).items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    if os.geteuid() != 0:
        raise Trouble(Text("The demo has to be set up as root.", "演示环境需以 root 身份安装。"))
    os.umask(0o022)
    if options.command == "users":
        show_users(instance)
        return 0
    if options.command == "status":
        return show_status(instance)
    with alone(instance):
        change(instance, options)
    return 0


def change(instance: Instance, options: argparse.Namespace) -> None:
    if options.command == "up":
        whole.up(instance, with_hub=not options.no_hub, say=say)
        if not options.no_hub:
            welcome(instance)
    elif options.command == "stop":
        whole.stop(instance, say)
    elif options.command == "clean":
        whole.clean(instance, options.keep_cache, say)
    elif options.command == "tools":
        whole.tools(instance)
    elif options.command == "image":
        if len(options.rest) != 2:
            raise Trouble(Text("image needs a name and a file.", "image 需要镜像名与文件名。"))
        whole.image(instance, options.rest[0], Path(options.rest[1]))


@contextmanager
def alone(instance: Instance) -> Iterator[None]:
    """Two that set up, stop or remove the same would spoil each other's files. The lock ends with its process. It lies
    where only root can write: in /run/lock anybody could hold it, or make it a link to another file."""
    lock = Path(f"/run/siflab-{instance.name}.lock")
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Trouble(
                Text(
                    f"Another command is at work on the instance {instance.name}: wait until it has ended.",
                    f"另一条命令正在操作实例 {instance.name}：请等它结束。",
                )
            ) from None
        yield


def main() -> int:
    try:
        return perform(parser().parse_args())
    except Trouble as trouble:
        print(trouble.message.to(terminal_language()), file=sys.stderr)
    except StepFailed:
        pass
    except KeyboardInterrupt:
        print(Text("Interrupted.", "已中断。").to(terminal_language()), file=sys.stderr)
    return 1
