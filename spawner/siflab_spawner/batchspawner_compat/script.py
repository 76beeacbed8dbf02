"""A site's own ``batch_script``: rendered as batchspawner does it, with Siflab's lines before its first command.

As in batchspawner a template with ``{{`` or ``{%`` in it is Jinja2, any other is for ``str.format``. The template and
the ``req_`` values are the site's own text and go in as they are. What a user chose is limited to characters that mean
nothing to a shell (see `choices`), so that it is one plain word wherever it lands.
"""

import re
import string
from collections.abc import Collection, Mapping

import jinja2
import jinja2.meta

from siflab.text import Text
from siflab_spawner.batchspawner_compat.refused import SettingRefused

DEFAULT_SCRIPT = """#!/bin/bash
#SBATCH --output={{homedir}}/jupyterhub_slurmspawner_%j.log
#SBATCH --job-name=spawner-jupyterhub
#SBATCH --chdir={{homedir}}
#SBATCH --export={{keepvars}}
#SBATCH --get-user-env=L
#SBATCH --partition={{partition}}
#SBATCH --account={{account}}
#SBATCH --qos={{qos}}
#SBATCH --time={{runtime}}
#SBATCH --mem={{memory}}
#SBATCH --gres={{gres}}
#SBATCH --cpus-per-task={{nprocs}}
#SBATCH --reservation={{reservation}}
#SBATCH {{options}}

trap 'echo SIGTERM received' TERM
{{prologue}}
{{srun}} {{cmd}}
siflab_status=$?
{{epilogue}}
exit $siflab_status
"""
"""What a site gets that never set ``batch_script``: what batchspawner's own asks of Slurm, without its ``set -euo
pipefail``, under which conda and many sites' prologues fail."""

_ENVIRONMENT = jinja2.Environment(autoescape=False)  # noqa: S701 (a shell script, no HTML)
_SIMPLE = re.compile(r"\{\{\s*(\w+)\s*\}\}", re.ASCII)
_FORMAT = re.compile(r"\{(\w+)\}", re.ASCII)
_TOKEN = re.compile(r"(?:\{\{\s*\w+\s*\}\}|\S)+", re.ASCII)
_EMPTY_OPTION = re.compile(r"(?<=\s)--[a-z][a-z-]*=(?=\s|$)")
_LONE_LETTER = re.compile(r"-[AaBbCcDdeFGiJLmMNnopqStwx]", re.ASCII)  # options of sbatch that want a value
_SHELLS = re.compile(r"#!\s*(?:/usr/bin/env\s+)?\S*?\b(?:ba|da|k|z)?sh(?:\s|$)")
_BATCHSPAWNERS_OWN = "batchspawner-singleuser"


def is_jinja(template: str) -> bool:
    return "{{" in template or "{%" in template


def names_in(template: str) -> set[str]:
    """The variables that a template uses. Raises ValueError for a template that cannot be read."""
    if is_jinja(template):
        try:
            return set(jinja2.meta.find_undeclared_variables(_ENVIRONMENT.parse(template)))
        except jinja2.TemplateError as error:
            raise ValueError(str(error)) from error
    found = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    return {re.split(r"[.\[]", name, maxsplit=1)[0] for name in found}


def check_script(setting: str, template: str, known: Collection[str]) -> None:
    """Raises SettingRefused for what could not become a job that starts a server."""
    try:
        names = names_in(template)
    except ValueError as error:
        raise SettingRefused(
            setting,
            Text(
                f"cannot be read as a template ({error}); a brace of the shell is written {{{{ or }}}}, as before",
                f"无法作为模板读取（{error}）；shell 的花括号照旧写成 {{{{ 或 }}}}",
            ),
        ) from error
    if "cmd" not in names:
        raise SettingRefused(
            setting, Text("must contain {cmd}, where the server starts", "必须包含 {cmd}，即启动服务器之处")
        )
    if _BATCHSPAWNERS_OWN in template:
        raise SettingRefused(
            setting,
            Text(
                f"runs {_BATCHSPAWNERS_OWN} itself. Write only {{cmd}} there: it does that program's part, and the "
                "image needs no batchspawner",
                f"自行运行 {_BATCHSPAWNERS_OWN}。此处只写 {{cmd}}：它已包含该程序的功能，镜像中无需安装 batchspawner",
            ),
        )
    unknown = sorted(names - set(known)) if not is_jinja(template) else []
    if unknown:
        raise SettingRefused(
            setting,
            Text(
                f"uses {{{unknown[0]}}}, for which there is no value. For an option of your own form add it to "
                f"c.SingularitySlurmSpawner.option_patterns; known: {', '.join(sorted(known))}",
                f"使用了 {{{unknown[0]}}}，但没有对应的值。若来自您自己的表单，请加入 "
                f"c.SingularitySlurmSpawner.option_patterns；可用：{'、'.join(sorted(known))}",
            ),
        )
    if not _SHELLS.match(template):
        first = template.partition("\n")[0][:60]
        raise SettingRefused(
            setting,
            Text(
                f"must begin with #!/bin/bash or another Bourne shell, not {first!r}: {{cmd}} needs lines before it",
                f"必须以 #!/bin/bash 或其他 Bourne 系 shell 开头，而不是 {first!r}：{{cmd}} 之前需要插入若干行",
            ),
        )


def render(template: str, values: Mapping[str, str]) -> str:
    """The script. On #SBATCH lines an option whose values are all empty is left out, and a line with nothing left."""
    fields = _SIMPLE if is_jinja(template) else _FORMAT
    template = "".join(_without_empty(line, fields, values) for line in template.splitlines(keepends=True))
    text = _ENVIRONMENT.from_string(template).render(**values) if is_jinja(template) else template.format(**values)
    return "".join(_tidied(line) for line in text.splitlines(keepends=True)).rstrip("\n") + "\n"


def with_lines(script: str, lines: str) -> str:
    """`lines` before the script's first command: after it sbatch reads no more #SBATCH."""
    before = []
    rest = script.splitlines(keepends=True)
    while rest and (not rest[0].strip() or rest[0].startswith("#")):
        before.append(rest.pop(0))
    return "".join(before) + lines.rstrip("\n") + "\n\n" + "".join(rest)


def _without_empty(line: str, fields: re.Pattern[str], values: Mapping[str, str]) -> str:
    if not line.startswith("#SBATCH") or "{%" in line:
        return line
    kept: list[str] = []
    for token in _TOKEN.findall(line):
        names = [name for name in fields.findall(token) if name in values]
        if names and not any(values[name] for name in names):
            if kept and _LONE_LETTER.fullmatch(kept[-1]) and not token.startswith("-"):
                kept.pop()
            continue
        kept.append(token)
    if len(kept) == len(_TOKEN.findall(line)):
        return line
    return " ".join(kept) + "\n" if len(kept) > 1 else ""


def _tidied(line: str) -> str:
    """The same for what only the rendered line shows (conditions of Jinja2)."""
    if not line.startswith("#SBATCH"):
        return line
    line = _EMPTY_OPTION.sub("", line)
    words = line.split()
    if len(words) > 1 and _LONE_LETTER.fullmatch(words[-1]):
        words.pop()
        line = " ".join(words) + "\n"
    return line if len(words) > 1 else ""
