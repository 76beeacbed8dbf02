"""Which of batchspawner's settings a site has, and what they come to: read once, refused at the Hub's start."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from siflab.slurm.execute import Slurm
from siflab.text import Text
from siflab_spawner.batchspawner_compat.choices import read_patterns
from siflab_spawner.batchspawner_compat.commands import Command, check_prefix, read_command
from siflab_spawner.batchspawner_compat.job_lines import ServerCommand, server_command
from siflab_spawner.batchspawner_compat.refused import SettingRefused
from siflab_spawner.batchspawner_compat.script import DEFAULT_SCRIPT, check_script

SECTIONS = ("Spawner", "BatchSpawnerBase", "BatchSpawnerRegexStates", "SlurmSpawner", "SingularitySlurmSpawner")
DEFAULTS = {
    "exec_prefix": "",
    "batch_submit_cmd": "sbatch --parsable",
    "batch_query_cmd": "squeue -h -j {job_id} -o '%T %B'",
    "batch_cancel_cmd": "scancel {job_id}",
    "batch_script": DEFAULT_SCRIPT,
    "batchspawner_singleuser_cmd": "batchspawner-singleuser",
}
_MARKS = re.compile(r"req_|batch_|batchspawner_|exec_prefix$", re.ASCII)
_QUERIES = ("squeue", "scancel", "scontrol", "sacct")


@dataclass(frozen=True)
class OldSettings:
    """What the commands and the script come to. `bin` is the folder of Slurm's commands, if a setting names it, and
    `cluster` what follows ``-M`` in it (``{cluster}`` may be in that)."""

    submit: Command
    cancel: Command
    script: str
    server: ServerCommand
    bin: str | None
    cluster: str | None


def settings_in(config: Mapping[str, Any]) -> dict[str, tuple[str, Any]]:
    """name -> (setting as it is written, value) of what a configuration sets for this spawner, the most special class
    first heard."""
    found = {}
    for section in SECTIONS:
        for name, value in dict(config.get(section, {})).items():
            found[str(name)] = (f"c.{section}.{name}", value)
    return found


def are_old(names: Collection[str]) -> bool:
    """Whether one of these is a setting of batchspawner's by which a job is made."""
    return any(_MARKS.match(name) for name in names)


def requirements(names: Collection[str]) -> list[str]:
    """The names by which templates know the ``req_`` traits."""
    return sorted(name.removeprefix("req_") for name in names if name.startswith("req_"))


@lru_cache(maxsize=64)
def read_settings(
    texts: tuple[tuple[str, str], ...],
    spelled: tuple[tuple[str, str], ...],
    known: tuple[str, ...],
    patterns: tuple[tuple[str, str], ...],
) -> OldSettings:
    """`texts` are the settings of `DEFAULTS`, `spelled` how each is written in the configuration, `known` the names of
    the req_ traits. Raises SettingRefused for the first that cannot keep its meaning."""
    text, where = dict(texts), dict(spelled)

    def setting(name: str) -> str:
        return where.get(name, f"c.SlurmSpawner.{name}")

    check_prefix(setting("exec_prefix"), text["exec_prefix"])
    submit = read_command(setting("batch_submit_cmd"), text["batch_submit_cmd"], known)
    read_command(setting("batch_query_cmd"), text["batch_query_cmd"], (*known, "job_id"))
    cancel = read_command(setting("batch_cancel_cmd"), text["batch_cancel_cmd"], (*known, "job_id"))
    submit, cluster = _without_cluster(submit)
    cancel, other = _without_cluster(cancel)
    if other not in (None, cluster):
        raise SettingRefused(
            cancel.setting, Text(f"names another cluster than {submit.setting}", f"指定的集群与 {submit.setting} 不同")
        )
    if not any("{job_id}" in word for word in cancel.words):
        raise SettingRefused(
            cancel.setting,
            Text("must contain {job_id}, the job that is cancelled", "必须包含 {job_id}，即要取消的作业"),
        )
    names = {*known, "cmd", *read_patterns(dict(patterns))}
    check_script(setting("batch_script"), text["batch_script"], names)
    server = server_command(setting("batchspawner_singleuser_cmd"), text["batchspawner_singleuser_cmd"])
    for command in (submit, cancel):
        _must_be_there(command)
    folder = submit.program.rpartition("/")[0]
    bin_dir = folder if folder and all(Slurm(folder).locate(name) for name in _QUERIES) else None
    for name in _QUERIES:
        if Slurm(bin_dir).locate(name) is None:
            raise SettingRefused(
                submit.setting,
                Text(
                    f"{name} is neither beside its program nor in the Hub's PATH; install Slurm's commands on the "
                    "Hub's machine, or name their folder (`/opt/slurm/bin/sbatch --parsable`)",
                    f"{name} 既不在其程序所在目录，也不在 Hub 的 PATH 中；请在 Hub 主机上安装 Slurm 命令，或写明其目录"
                    "（`/opt/slurm/bin/sbatch --parsable`）",
                ),
            )
    return OldSettings(submit, cancel, text["batch_script"], server, bin_dir, cluster)


def _must_be_there(command: Command) -> None:
    path = Slurm().locate(command.program)
    if path is None or not os.access(path, os.X_OK):
        raise SettingRefused(
            command.setting,
            Text(
                f"there is no program {command.program!r} that can be run on the Hub's machine; give its absolute path",
                f"Hub 主机上没有可运行的程序 {command.program!r}；请给出绝对路径",
            ),
        )


def _without_cluster(command: Command) -> tuple[Command, str | None]:
    """The watcher's questions go to the same cluster, so it is no option of one command."""
    kept, cluster = list(command.words), None
    for at, word in enumerate(command.words):
        if word in ("-M", "--cluster", "--clusters") and at + 1 < len(command.words):
            cluster = command.words[at + 1]
            del kept[at : at + 2]
            break
        found = re.fullmatch(r"(?:-M|--clusters?=)(.+)", word)
        if found:
            cluster = found[1]
            del kept[at]
            break
    return Command(command.setting, tuple(kept)), cluster
