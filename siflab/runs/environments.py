"""A person's own environment in a run: which one its kernel means, and whether it is for the run's image."""

from dataclasses import dataclass
from pathlib import Path

from siflab.config import Resources
from siflab.container.digest import identity
from siflab.environments import Environment, Place, Store, environment_of_kernel, jupyter_path
from siflab.environments.place import FOLDER
from siflab.notebook import Finding
from siflab.runs.job_view import JobView
from siflab.runs.viewer import Viewer
from siflab.text import Text

_ANY = "sif:" + "0" * 64  # of no image: every environment is for another one


@dataclass(frozen=True)
class KernelChoice:
    """What a kernel's name means: an environment that can be used, or why it cannot. Neither: a kernel of the image."""

    environment: Environment | None = None
    finding: Finding | None = None

    @property
    def is_own(self) -> bool:
        return self.environment is not None or self.finding is not None

    def jupyter_path(self, job_view: JobView) -> dict[str, str]:
        """For the job's environment, so that the runner finds the kernel."""
        if self.environment is None:
            return {}
        return {"JUPYTER_PATH": jupyter_path(job_view.home[1], self.environment.identity)}


def image_identity(viewer: Viewer, resources: Resources) -> str | None:
    """The identity of the run's image; None where it cannot be told: a session sees no other image than its own."""
    session = viewer.in_session
    if session is not None and session.image_id == resources.image_id and session.image_identity:
        return session.image_identity
    return identity(resources.image, viewer.seen(resources.image.path) or "")


def choose(viewer: Viewer, kernel: str | None, resources: Resources) -> KernelChoice:
    """`kernel` is the one asked for, else the notebook's own."""
    name = environment_of_kernel(kernel)
    if name is None:
        return KernelChoice()
    home = viewer.seen(viewer.home) or viewer.home
    known = image_identity(viewer, resources)
    place = Place(
        identity=known or _ANY,
        image_id=resources.image_id,
        image_path=resources.image.path,
        title=resources.image.title,
        home=home,
        sees_files=viewer.in_session is not None,
    )
    try:
        versions = Store(place).versions(name)
    except OSError as error:
        words = error.strerror or str(error)
        folder = Path(home) / FOLDER
        return KernelChoice(
            finding=_finding(Text(f"{folder} cannot be read ({words})", f"无法读取 {folder}（{words}）"))
        )
    if known is None:  # the job's script has the last word
        found = next((each for each in versions if each.image_path == resources.image.path), None)
    else:
        found = next((each for each in versions if each.identity == known), None)
    if found is not None and (found.state == "ready" or (known is None and found.state == "earlier")):
        return KernelChoice(environment=found)
    if found is not None:
        state = found.state
        return KernelChoice(finding=_finding(_not_ready(name, state)))
    return KernelChoice(finding=_finding(_another_image(name, resources) if versions else _none(name)))


def _finding(message: Text) -> Finding:
    return Finding("environment-not-usable", "error", message)


def _not_ready(name: str, state: str) -> Text:
    if state == "making":
        return Text(
            f"the environment {name} is just being made; submit again when it is ready",
            f"环境 {name} 正在创建；请在就绪后再提交",
        )
    return Text(
        f"the environment {name} is not complete or has lost its files; make it anew with `siflab env rebuild {name}`, "
        "or choose another kernel",
        f"环境 {name} 不完整或文件已丢失；请用 `siflab env rebuild {name}` 重建，或选择其他内核",
    )


def _another_image(name: str, resources: Resources) -> Text:
    image = resources.image_id
    return Text(
        f"the environment {name} was made for another image, or an earlier state of {image}; rebuild it for this one: "
        f"in a session with {image} by `siflab env rebuild {name}`, on a login node by `siflab env --image {image} "
        f"rebuild {name}`. Or choose another kernel",
        f"环境 {name} 属于另一个镜像（或 {image} 的早期版本）；请为此镜像重建：在使用 {image} 的会话中运行 "
        f"`siflab env rebuild {name}`，或在登录节点运行 `siflab env --image {image} rebuild {name}`。也可选择其他内核",
    )


def _none(name: str) -> Text:
    return Text(
        f"there is no environment {name}; make it with `siflab env create {name} PACKAGE ...`, or choose another "
        "kernel",
        f"没有环境 {name}；请用 `siflab env create {name} 软件包 ...` 创建，或选择其他内核",
    )
