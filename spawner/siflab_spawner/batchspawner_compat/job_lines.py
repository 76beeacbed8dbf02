"""Siflab's lines in a site's own script, and what ``{cmd}`` becomes.

The lines make the session's private folder on the node, 0700, with the shim and the claim's configuration in it, and
name it SIFLAB_DIR. They use what POSIX's sh has, leave no shell option changed, and come before the site's first line.
``{cmd}`` is the shim, started by the ``python3`` that is found there: the host's, the one that the prologue brought
into PATH, or the image's, where the site's script has ``singularity exec image.sif {cmd}``. /tmp, where the folder is
made, is the same inside by Singularity's default; where a site turns that off (``--contain``), its script binds it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from siflab.node.archive import build_archive
from siflab.script.packing import packed
from siflab.script.quoting import quoted
from siflab.text import Text
from siflab_spawner.batchspawner_compat.refused import SettingRefused

_WRAPPER = "batchspawner-singleuser"
_TEXT = """\
# ---- Siflab: the private folder that {{cmd}} runs from. No secret is in this script; see docs/from-batchspawner.md
siflab_started() {{ sed 's/.*) //' "/proc/$1/stat" 2> /dev/null | cut -d ' ' -f 20; }}
siflab_sweep() {{ # folders that sessions of this user left behind on this node
  for siflab_old in {folder}/siflab.*; do
    if [ ! -O "$siflab_old" ] || [ -L "$siflab_old" ] || [ ! -f "$siflab_old/shell" ]; then continue; fi
    read -r siflab_pid siflab_start siflab_node < "$siflab_old/shell" || continue
    [ "$siflab_node" = "$(uname -n)" ] || continue
    [ "$(siflab_started "$siflab_pid")" = "$siflab_start" ] || rm -rf -- "$siflab_old"
  done
}}
siflab_begin() {{
  siflab_sweep
  SIFLAB_DIR=$(mktemp -d {folder}/siflab."${{SLURM_JOB_ID:-0}}".XXXXXXXX) || return
  printf '%s %s %s\\n' "$$" "$(siflab_started "$$")" "$(uname -n)" > "$SIFLAB_DIR/shell" || return
  cat > "$SIFLAB_DIR/claim.json" << 'SIFLAB_END' || return
{claim}
SIFLAB_END
  base64 -d << 'SIFLAB_END' | gzip -d > "$SIFLAB_DIR/node.pyz" || return
{node}
SIFLAB_END
}}
if ! siflab_begin; then
  printf 'siflab: %s\\n' "no private folder can be made in {folder} on $(uname -n): is its disk full?" \\
    "无法在 $(uname -n) 的 {folder} 中创建私有目录：磁盘是否已满？" >&2
  exit 31
fi
trap 'rm -rf -- "$SIFLAB_DIR"' EXIT
trap : TERM # the server gets it too, and has time to end before this shell does
export SIFLAB_DIR
{exports}# ---- end of Siflab's lines
"""


@dataclass(frozen=True)
class JobLines:
    """`claim` is the shim's configuration; `environment` what the site's lines may need; `folder` where the private
    folder is made on the node."""

    claim: Mapping[str, object]
    environment: Mapping[str, str]
    folder: str = "/tmp"  # noqa: S108
    node_archive: bytes = field(default_factory=build_archive, repr=False)

    def text(self) -> str:
        return _TEXT.format(
            folder=quoted(self.folder),
            claim=json.dumps(dict(self.claim), ensure_ascii=True),
            node=packed(self.node_archive),
            exports="".join(f"export {name}={quoted(value)}\n" for name, value in self.environment.items()),
        )


@dataclass(frozen=True)
class ServerCommand:
    """What ``batchspawner_singleuser_cmd`` comes to: the site's words before that program, and the Python beside it."""

    prefix: str
    python: str

    @property
    def cmd(self) -> str:
        """For ``{cmd}``: no quotation marks, so that it may stand inside the site's own. What the shim must know of the
        job is named, since ``singularity exec --cleanenv`` hands nothing on."""
        job = "env SLURM_JOB_ID=$SLURM_JOB_ID SLURMD_NODENAME=$SLURMD_NODENAME"
        return f"{self.prefix}{job} {self.python} -I $SIFLAB_DIR/node.pyz shim $SIFLAB_DIR"

    def argv(self, command: list[str]) -> list[str]:
        """The server's own command: `command` as the site set it, else JupyterHub's default, run by the Python that
        batchspawner's program would have run it by."""
        if command:
            return command
        return [self.python, "-m", "jupyterhub.singleuser"] if "/" in self.python else ["jupyterhub-singleuser"]


def server_command(setting: str, text: str) -> ServerCommand:
    """From ``batchspawner_singleuser_cmd``, whose last word is that program. Raises SettingRefused."""
    before, _, last = text.strip().rpartition(" ")
    path = PurePosixPath(last)
    if last and path.name != _WRAPPER:
        raise SettingRefused(
            setting,
            Text(
                f"must end with {_WRAPPER}, whose place Siflab's shim takes; what stands before it is kept. What "
                f"{last!r} does belongs into req_prologue",
                f"必须以 {_WRAPPER} 结尾（由 Siflab 的 shim 取代），其前面的内容保留。"
                f"{last!r} 所做的事请写入 req_prologue",
            ),
        )
    python = str(path.parent / "python3") if "/" in last else "python3"
    return ServerCommand(f"{before} " if before else "", python)
