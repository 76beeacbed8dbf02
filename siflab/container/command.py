"""The command line of ``singularity exec``, as an argument list.

Source: singularity-exec(1) / apptainer-exec(1); what each option does was measured with Apptainer 1.4.5.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from siflab.config import Bind, SingularitySite


def use_nv(site: SingularitySite, gpus: int) -> bool:
    """Whether ``--nv`` belongs into the command. Without a GPU on the node it is silent and does nothing."""
    modes: dict[Literal["auto", "always", "never"], bool] = {"always": True, "never": False, "auto": gpus > 0}
    return modes[site.nv]


def exec_argv(
    site: SingularitySite,
    image_path: str,
    argv: Sequence[str],
    *,
    binds: Iterable[Bind] = (),
    nv: bool = False,
    pwd: str | None = None,
    home: tuple[str, str] | None = None,
    env: Mapping[str, str] | None = None,
) -> list[str]:
    """`argv` inside the image. `binds` come after the site's own; `home` is (host, inside).

    ``--env`` splits its value at commas, so a value that holds one is refused: pass it through the environment
    (APPTAINERENV_...) or a file instead.
    """
    command = [site.command, "exec"]
    if nv:
        command.append("--nv")
    for bind in (*site.binds, *binds):
        command += ["--bind", str(bind)]
    if home is not None:
        command += ["--home", f"{home[0]}:{home[1]}"]
    if pwd is not None:
        command += ["--pwd", pwd]
    for name, value in (env or {}).items():
        if "," in value or "\n" in value:
            raise ValueError(f"{name}: --env cannot carry a comma or a line end")
        command += ["--env", f"{name}={value}"]
    return [*command, image_path, *argv]
