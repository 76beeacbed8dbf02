"""The batch script of a session: a pure function from a plan to its text.

It holds no secret, only the claim code, which is good once and only while Slurm says that this job runs. What sbatch is
asked for goes by its argument list, not by #SBATCH lines.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from string import Template

from siflab import node
from siflab.config import Bind, SingularitySite
from siflab.container.command import exec_argv
from siflab.script.quoting import command_line, quoted

INSIDE = "/run/siflab"  # where the container has the session's private folder
_LINE = 76


@dataclass(frozen=True)
class SessionPlan:
    """What the script of one session is made of. `home` is (host, inside); `claim` is the shim's configuration."""

    singularity: SingularitySite
    image_path: str
    python: str
    nv: bool
    home: tuple[str, str]
    claim: Mapping[str, object]
    folder: str = "/tmp"  # noqa: S108
    slurm_bin: str | None = None
    slurm_conf: str | None = None
    host_pythons: Sequence[str] = ("/usr/bin/python3", "/usr/libexec/platform-python", "python3")
    binds: tuple[Bind, ...] = field(default=())


def render_session(plan: SessionPlan) -> str:
    """The script, for sbatch's standard input."""
    folder = Bind(source="/SIFLAB_FOLDER", target=INSIDE)
    profile = Bind(source="/SIFLAB_FOLDER/profile.sh", target="/etc/profile.d/zz-siflab.sh", read_only=True)
    argv = exec_argv(
        plan.singularity,
        plan.image_path,
        [plan.python, f"{INSIDE}/node.pyz", "shim", INSIDE],
        binds=(*plan.binds, folder, profile),
        nv=plan.nv,
        home=plan.home,
        pwd=plan.home[1],
    )
    binds = (*plan.singularity.binds, *plan.binds)
    bridge = {"binds": [[b.target, b.source] for b in binds], "bin": plan.slurm_bin, "conf": plan.slurm_conf}
    return _template().substitute(
        folder=quoted(plan.folder),
        singularity=quoted(plan.singularity.command),
        image=quoted(plan.image_path),
        python=quoted(plan.python),
        sources=command_line(bind.source for bind in binds),
        host_pythons=command_line(plan.host_pythons),
        claim=_base64(json.dumps(dict(plan.claim)).encode()),
        bridge=_base64(json.dumps(bridge).encode()),
        node=_base64(node.archive()),
        client=_base64(node.client_script().encode()),
        command=command_line(argv).replace("/SIFLAB_FOLDER", '"$D"'),
    )


def _template() -> Template:
    return Template(resources.files("siflab.script").joinpath("templates/session.sh").read_text("utf-8"))


def _base64(data: bytes) -> str:
    text = base64.b64encode(data).decode("ascii")
    return "\n".join(text[start : start + _LINE] for start in range(0, len(text), _LINE))
