"""`siflab env`: people's own packages. All of it is `siflab.environments.command`, which needs the image's Python: in a
session it is here, on a login node the image is started for it."""

import argparse
import os
import shutil
from collections.abc import Sequence

from siflab.cli.terminal import in_words, pick, warn
from siflab.config import Image
from siflab.container.command import exec_argv
from siflab.container.digest import identity
from siflab.environments import Place, program_text
from siflab.environments.arguments import build
from siflab.environments.command import main as run_here
from siflab.environments.place import scratch_folder
from siflab.errors import FieldError, Internal, Invalid
from siflab.runs import Viewer
from siflab.runs.job_view import JobView
from siflab.text import Text, terminal_language

_PATHS = ("-r", "--requirements", "--root")
_NOT_INSIDE = ("JUPYTER", "SINGULARITY", "APPTAINER", "VIRTUAL_ENV", "CONDA", "PYTHON")


def env(options: argparse.Namespace) -> int:
    """The exit code; on a login node this process becomes the container."""
    words = ["--help"] if options.help else list(options.arguments)
    if "--help" in words or "-h" in words:
        return run_here(words)
    viewer = Viewer.here()
    if viewer.in_session is not None:
        _refuse_another_image(viewer, options.image)
        return run_here(words)
    try:
        build().parse_args(words)  # what is wrong with them is said without starting a container
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 2
    image_id, image = _image(viewer, options.image)
    argv = _argv(viewer, image_id, image, words)
    warn(pick(f"image: {in_words(image.title)} ({image_id})", f"镜像：{in_words(image.title)}（{image_id}）"))
    os.execvpe(argv[0], argv, _environment())  # noqa: S606 (no shell)


def _argv(viewer: Viewer, image_id: str, image: Image, words: Sequence[str]) -> list[str]:
    site, view = viewer.site, JobView(viewer.site, viewer.home)
    command = shutil.which(site.singularity.command)
    if command is None:
        raise Internal(
            Text(
                f"there is no {site.singularity.command} on this machine, so the image cannot be started; use a "
                "terminal in a session",
                f"本机没有 {site.singularity.command}，无法启动镜像；请在会话的终端中操作",
            )
        )
    found = identity(image)
    if found is None:
        raise Internal(
            Text(
                f"the image {image.path} cannot be read on this machine, so an environment cannot be made for it; use "
                "a terminal in a session, or tell your administrator",
                f"本机无法读取镜像 {image.path}，因此不能为其创建环境；请在会话的终端中操作，或联系管理员",
            )
        )
    binds = [str(bind) for bind in site.singularity.binds]
    place = Place(
        identity=found,
        image_id=image_id,
        image_path=image.path,
        title=image.title,
        home=view.home[1],
        scratch=scratch_folder(site.model_dump(mode="json"), binds, viewer.user),
    )
    program = [image.python, "-I", "-c", program_text(), "--place", place.as_json(), *_inside(view, words)]
    language = {"SIFLAB_LANG": terminal_language()}  # an image may set LANG
    return exec_argv(site.singularity, image.path, program, home=view.home, pwd=view.home[1], env=language)


def _inside(view: JobView, words: Sequence[str]) -> list[str]:
    """The arguments with paths as the container has them."""
    found: list[str] = []
    for index, word in enumerate(words):
        name, equals, value = word.partition("=")
        if index and words[index - 1] in _PATHS:
            found.append(_path(view, word))
        elif equals and name in _PATHS:
            found.append(f"{name}={_path(view, value)}")
        else:
            found.append(word)
    return found


def _path(view: JobView, value: str) -> str:
    if value in ("home", "scratch"):
        return value
    path = view.inside(os.path.abspath(os.path.expanduser(value)))  # noqa: PTH100, PTH111
    if path is not None:
        return path
    raise Invalid(
        [
            FieldError(
                "",
                "not-in-image",
                Text(
                    f"the image does not see {value}; use a path below your home, or one that sessions see",
                    f"镜像看不到 {value}；请使用主目录下的路径，或会话可见的路径",
                ),
            )
        ]
    )


def _image(viewer: Viewer, wish: str | None) -> tuple[str, Image]:
    """The one asked for, else that of the runs' default profile, else the first."""
    site = viewer.site
    default = site.runs.default_profile
    name = wish or (site.profiles[default].image if default else next(iter(site.images)))
    image = site.images.get(name)
    if image is not None:
        return name, image
    listed = ", ".join(site.images)
    message = Text(f"there is no image {name!r}; there are: {listed}", f"没有镜像 {name!r}；可选：{listed}")
    raise Invalid([FieldError("image", "unknown-image", message)])


def _refuse_another_image(viewer: Viewer, wish: str | None) -> None:
    own = viewer.in_session.image_id if viewer.in_session else None
    if wish in (None, own):
        return
    message = Text(
        f"this session runs in the image {own}; make environments for {wish} in a session with it, or on a login node",
        f"本会话使用镜像 {own}；请在使用 {wish} 的会话中或登录节点上为其创建环境",
    )
    raise Invalid([FieldError("image", "another-image", message)])


def _environment() -> dict[str, str]:
    """The person's own, with pip's and a proxy's settings, without what belongs to another Python."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_NOT_INSIDE)}
