"""The steps by which an instance is set up: each does nothing where its work is done already."""

from collections.abc import Callable
from pathlib import Path

from cluster.instance import apptainer, folders, hub, packages, people, site, venv, wheel
from cluster.instance.manifest import Manifest
from cluster.instance.names import CACHE, CHECKOUT, Instance
from cluster.instance.steps import Step
from cluster.lab import whole as lab
from cluster.lab.trouble import run
from siflab.text import Text

NETWORK_ADVICE = Text(
    "Check that this machine reaches its package sources (apt, pip and npm as they are configured here), then run it "
    "again: it goes on where it stopped.",
    "请确认本机能够访问其软件源（按本机 apt、pip、npm 的配置），然后再次运行：会从中断处继续。",
)
AGAIN_ADVICE = Text("Run it again: it goes on where it stopped.", "请再次运行：会从中断处继续。")


class Making:
    """One run of `up`: the steps share what an earlier one found."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.manifest = Manifest.of(instance)
        self.tests = not instance.machine_wide
        self.said: list[Text] = []
        self.built: tuple[Path, str] | None = None

    def spoken(self) -> list[Text]:
        said, self.said = self.said, []
        return said

    # What is needed on the machine
    def system_packages(self) -> None:
        names = [*packages.SLURM, *packages.IMAGES, *packages.HUB]
        if self.tests:
            names += [*packages.BROWSER, *packages.CHECKS]
        packages.install(self.manifest, tuple(names), packages.OPTIONAL)
        packages.node_js()

    def tool_packages(self) -> None:
        packages.install(self.manifest, (*packages.HUB, *packages.CHECKS))
        packages.node_js()

    def front_end_packages(self) -> None:
        """Where the front end's linters and tests look for them; who works on it has a node_modules of their own."""
        link = CHECKOUT / "labextension" / "node_modules"
        target = wheel.node_modules(link.parent) / "node_modules"
        if link.is_symlink() or not link.exists():
            link.unlink(missing_ok=True)
            self.manifest.add("links", [link])
            link.symlink_to(target)

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

    def older_python_environment(self) -> None:
        venv.make_older(self.instance)

    def proxy(self) -> None:
        self.manifest.add("caches", [CACHE])
        hub.install_proxy(self.instance)

    def siflab(self) -> None:
        self.built = venv.install_siflab(self.instance)

    def images(self) -> None:
        for name in (*self.instance.images, *self.instance.other_images):
            self.image(name, self.instance.image(name))

    def image(self, name: str, target: Path) -> None:
        assert self.built is not None
        file, key = self.built
        build = [CHECKOUT / "images" / "build", name, target, "--wheel", file, "--source", key]
        print(run(build, timeout=3600).stdout)

    def site_and_command(self) -> None:
        site.write(self.instance)
        folders.connect(self.instance, self.manifest)

    def jupyterhub(self) -> None:
        assert self.built is not None
        hub.start(self.instance, self.built[1])

    def tools(self) -> list[Step]:
        """For unit tests and linters: no Slurm, no image."""
        return [
            Step("packages", Text("System packages", "系统软件包"), self.tool_packages, NETWORK_ADVICE),
            Step("python", Text("Python environment", "Python 环境"), self.python_environment, NETWORK_ADVICE),
            Step("node", Text("Front end's packages", "前端依赖包"), self.front_end_packages, NETWORK_ADVICE),
        ]

    def one_image(self, name: str, target: Path) -> list[Step]:
        """What building an image needs, and the image; to use elsewhere."""
        everything = {step.name: step for step in self.steps(with_hub=False)}

        def build() -> None:
            self.image(name, target)

        image = Step("image", Text(f"Image {name}", f"镜像 {name}"), build, NETWORK_ADVICE)
        return [everything[part] for part in ("packages", "apptainer", "python", "siflab")] + [image]

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
        if self.tests:
            steps.append(step("older", "Oldest JupyterHub", "最旧的 JupyterHub", self.older_python_environment, net))
        if with_hub:
            steps.append(step("hub", "JupyterHub", "JupyterHub", self.jupyterhub))
        return steps
