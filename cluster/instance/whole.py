"""An instance as a whole: up, stop and clean."""

import os
import pwd
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

from cluster.instance import apptainer, evidence, folders, hub, packages, people, refusal, site, venv
from cluster.instance.manifest import Manifest, others
from cluster.instance.names import CACHE, CHECKOUT, STATE, Instance
from cluster.instance.steps import Step, perform
from cluster.lab import people as lab_people
from cluster.lab import processes
from cluster.lab import whole as lab
from cluster.lab.settings import kept_settings
from cluster.lab.trouble import Trouble, run
from siflab.text import Text

Say = Callable[[Text], None]
NETWORK_ADVICE = Text(
    "Check that this machine reaches its package sources (apt, pip and npm as they are configured here), then run it "
    "again: it goes on where it stopped.",
    "请确认本机能够访问其软件源（按本机 apt、pip、npm 的配置），然后再次运行：会从中断处继续。",
)
AGAIN_ADVICE = Text("Run it again: it goes on where it stopped.", "请再次运行：会从中断处继续。")


class Setup:
    """One run of `up`: the steps share what an earlier one found."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.manifest = Manifest.of(instance)
        self.tests = not instance.machine_wide
        self.said: list[Text] = []
        self.wheel: tuple[Path, str] | None = None

    def spoken(self) -> list[Text]:
        said, self.said = self.said, []
        return said

    # What is needed on the machine
    def system_packages(self) -> None:
        names = [*packages.SLURM, *packages.IMAGES, *packages.HUB]
        if self.tests:
            names += [*packages.BROWSER, *packages.CHECKS]
        packages.install(self.manifest, tuple(names), packages.OPTIONAL)
        packages.node_js(self.manifest)

    def container_runtime(self) -> None:
        apptainer.install(self.manifest)

    def people_and_folders(self) -> None:
        self.instance.root.mkdir(parents=True, exist_ok=True)
        people.make(self.instance, self.manifest)
        folders.make(self.instance, self.manifest)

    def cluster(self) -> None:
        def say(text: Text) -> None:
            print(text.en)
            if not text.en[:1].isspace():
                self.said.append(text)

        wanted = self.instance.cluster()
        with lab.alone(wanted.root):
            lab.up(wanted, say)

    # Siflab and what it runs in
    def python_environment(self) -> None:
        self.manifest.add("caches", [CACHE])
        extras = ("hub", "lab", "test") if self.tests else ("hub",)
        venv.make(self.instance, extras)

    def proxy(self) -> None:
        self.manifest.add("caches", [CACHE])
        hub.install_proxy(self.instance)

    def siflab(self) -> None:
        self.wheel = venv.install_siflab(self.instance)

    def images(self) -> None:
        for name in self.instance.images:
            self.image(name)

    def image(self, name: str) -> None:
        assert self.wheel is not None
        file, key = self.wheel
        build = [CHECKOUT / "images" / "build", name, self.instance.image(name), "--wheel", file, "--source", key]
        print(run(build, timeout=3600).stdout)

    def site_and_command(self) -> None:
        site.write(self.instance)
        folders.connect(self.instance, self.manifest)

    def jupyterhub(self) -> None:
        assert self.wheel is not None
        hub.start(self.instance, self.wheel[1])

    def steps(self, with_hub: bool) -> list[Step]:
        def step(name: str, en: str, zh: str, act: Callable[[], object], advice: Text = AGAIN_ADVICE) -> Step:
            return Step(name, Text(en, zh), act, advice)

        net = NETWORK_ADVICE
        cluster_log = self.instance.root / "slurm" / "log"
        look = Text(f"The daemons' own logs: {cluster_log}.", f"各守护进程的日志：{cluster_log}。")
        steps = [
            step("packages", "System packages", "系统软件包", self.system_packages, net),
            step("apptainer", "Apptainer", "Apptainer", self.container_runtime, net),
            step("people", "Users and folders", "用户与目录", self.people_and_folders),
            step("cluster", "Slurm cluster", "Slurm 集群", self.cluster, look),
            step("python", "Python environment", "Python 环境", self.python_environment, net),
            step("proxy", "Proxy", "代理", self.proxy, net),
            step("siflab", "Siflab and its JupyterLab extension", "Siflab 及其 JupyterLab 扩展", self.siflab, net),
            step("images", "Singularity images", "Singularity 镜像", self.images, net),
            step("site", "site.yaml", "site.yaml", self.site_and_command),
        ]
        if with_hub:
            steps.append(step("hub", "JupyterHub", "JupyterHub", self.jupyterhub))
        return steps


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
    setup = Setup(instance)
    perform(setup.steps(with_hub), instance.log, setup.spoken)


def stop(instance: Instance, say: Say) -> None:
    """End Hub, proxy, sessions, runs and the cluster: no process, mount, network namespace or cgroup stays."""
    begun = time.monotonic()
    hub.stop(instance)
    settings = kept_settings(instance.root / "slurm")
    if settings is not None:
        with lab.alone(settings.root):
            lab.down(settings)
    processes.stop(processes.marked(instance.root), 5)
    say(Text(f"Stopped in {time.monotonic() - begun:.1f} s.", f"已停止，用时 {time.monotonic() - begun:.1f} 秒。"))


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
