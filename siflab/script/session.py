"""The batch script of a session: a pure function from a plan to its text.

It holds no secret, only the claim code, which is good once and only while Slurm says that this job runs. What Slurm is
asked for goes to sbatch by argument list, so there are no #SBATCH lines. Every value goes through `quoted`, or is JSON
in a quoted here-document. Exit codes: `PROBLEMS`, the shim's (`siflab.node.shim`) and the server's own.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from siflab.config import Bind, SingularitySite
from siflab.container.command import exec_argv
from siflab.node.archive import build_archive, profile_script
from siflab.script.packing import packed
from siflab.script.quoting import command_line, quoted
from siflab.script.template import filled

INSIDE = "/run/siflab"
"""Where the container has the session's private folder."""
PROBLEMS = {"no-folder": 31, "no-singularity": 32, "no-image": 33, "no-bind": 34, "no-python": 35, "no-container": 36,
            "old-python": 37}  # fmt: skip
"""All are under 128, since Slurm shows a higher one as a signal."""
_PROFILE = "/etc/profile.d/zz-siflab.sh"
_FOLDER = "/@siflab-folder"
# sh, because Singularity's own exit code is 255 for each of its failures, and a missing Python deserves its own words
_START = 'command -v "$1" > /dev/null || exit 97; exec "$@"'


@dataclass(frozen=True)
class SessionPlan:
    """What the script of one session is made of.

    `home` is (host, inside); `claim` is the shim's configuration: claim_url, ca (PEM or None), user, server, code,
    boot_limit in seconds. `folder` is where the private folder is made on the node. `slurm_bin` and `slurm_conf` are
    the bridge's. `host_pythons` are tried in this order for the bridge. `prologue` is a site's own shell text; it runs
    first, without our strict mode.
    """

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
    binds: tuple[Bind, ...] = ()
    prologue: str = ""
    node_archive: bytes = field(default_factory=build_archive, repr=False)


def render_session(plan: SessionPlan) -> str:
    """The script, for sbatch's standard input. Raises ValueError for a value that no script can carry."""
    binds = (*plan.singularity.binds, *plan.binds)
    command = exec_argv(
        plan.singularity,
        plan.image_path,
        ["sh", "-c", _START, "sh", plan.python, "-I", f"{INSIDE}/node.pyz", "shim", INSIDE],
        binds=(
            *plan.binds,
            Bind(source=_FOLDER, target=INSIDE),
            Bind(source=f"{_FOLDER}/profile.sh", target=_PROFILE, read_only=True),
        ),
        nv=plan.nv,
        home=plan.home,
        pwd=plan.home[1],
    )
    bridge = {
        "binds": [[bind.source, bind.target] for bind in binds] + [list(plan.home)],
        "slurm_bin": plan.slurm_bin,
        "home": plan.home[0],
    }
    return filled(
        "session.sh",
        claim=_one_line(plan.claim),
        bridge=_one_line(bridge),
        profile=profile_script().rstrip("\n"),
        node=packed(plan.node_archive),
        host_pythons=command_line(plan.host_pythons),
        folder=quoted(plan.folder),
        singularity=quoted(plan.singularity.command),
        image=quoted(plan.image_path),
        python=quoted(plan.python),
        sources=command_line(bind.source for bind in binds),
        prologue=_prologue(plan.prologue),
        slurm_conf=f"  export SLURM_CONF={quoted(plan.slurm_conf)}\n" if plan.slurm_conf else "",
        command=_lines(command),
    )


def _one_line(value: Mapping[str, object]) -> str:
    """JSON in ASCII: one line, so that it cannot hold the here-document's end."""
    return json.dumps(dict(value), ensure_ascii=True)


def _prologue(text: str) -> str:
    return f"  # the site's own\n{text.strip()}\n" if text.strip() else ""


def _lines(argv: Sequence[str]) -> str:
    """An argument list over several lines, an option and its value on each; the private folder's name is known when the
    script runs."""
    lines: list[list[str]] = []
    for word in argv:
        if word.startswith("--") or not lines or (len(lines[-1]) == 2 and lines[-1][0].startswith("--")):
            lines.append([])
        lines[-1].append(_word(word))
    return "\n".join("    " + " ".join(line) for line in lines)


def _word(word: str) -> str:
    if not word.startswith(_FOLDER):
        return quoted(word)
    return '"$folder"' + quoted(word[len(_FOLDER) :])
