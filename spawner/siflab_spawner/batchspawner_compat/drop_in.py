"""batchspawner's settings at work: the site that they describe, and the job that they make."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import batchspawner

from siflab.config import Resources, Site, parse_site
from siflab.config.load import DEFAULT_PATHS
from siflab.errors import FieldError, Invalid
from siflab.node import sbatch_line
from siflab.slurm.execute import PosixUser
from siflab.text import Text
from siflab_spawner.batchspawner_compat.choices import read_choices, read_patterns
from siflab_spawner.batchspawner_compat.job_lines import JobLines
from siflab_spawner.batchspawner_compat.kept_variables import kept_variables
from siflab_spawner.batchspawner_compat.refused import SettingRefused
from siflab_spawner.batchspawner_compat.script import DEFAULT_SCRIPT, names_in, render, with_lines
from siflab_spawner.batchspawner_compat.settings import (
    DEFAULTS,
    OldSettings,
    are_old,
    read_settings,
    requirements,
    settings_in,
)
from siflab_spawner.state import sha256

if TYPE_CHECKING:
    from siflab_spawner.spawner import SingularitySlurmSpawner

NO_SITE = "none"
"""As `site_file`: there is a site.yaml on this machine, but this Hub goes by batchspawner's settings."""
PROFILE = "batchspawner"
_BATCHSPAWNERS_SCRIPT = batchspawner.SlurmSpawner.batch_script.default_value
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.@+/-]+", re.ASCII)


def has_site(site_file: str) -> bool:
    """Whether a site.yaml rules: one is named, or lies where it is looked for."""
    if site_file == NO_SITE:
        return False
    return bool(site_file or os.environ.get("SIFLAB_SITE") or any(Path(path).exists() for path in DEFAULT_PATHS))


@dataclass(frozen=True)
class OldJob:
    """What goes to Slurm: sbatch's argument list, the script, where its log will be (``%j`` is the job's id; empty: not
    known), and the facts that are kept of it."""

    argv: list[str]
    script: str
    log_pattern: str
    facts: dict[str, Any]


class DropIn:
    """The settings of one spawner, read anew for each start: a site's hooks change traits for one user."""

    def __init__(self, spawner: "SingularitySlurmSpawner") -> None:
        self.spawner = spawner
        self._site: Site | None = None
        self._start_timeout = 0
        if (
            spawner.start_timeout != type(spawner).start_timeout.default_value
        ):  # JupyterHub would end a start with few words
            self._start_timeout, spawner.start_timeout = (
                spawner.start_timeout,
                type(spawner).start_timeout.default_value,
            )

    @classmethod
    def of(cls, spawner: "SingularitySlurmSpawner", given: Mapping[str, Any]) -> "DropIn | None":
        """None where a site.yaml rules, or where there is no setting of batchspawner's, neither in the configuration
        nor in `given` (the arguments of a wrapspawner profile)."""
        if has_site(spawner.site_file) or not are_old({*settings_in(spawner.config), *given}):
            return None
        return cls(spawner)

    @property
    def site(self) -> Site:
        """A site with one profile, which stands for the settings. Its name, part of the mark in the comment of jobs, is
        of this Hub alone: two Hubs of a cluster must not take each other's jobs for their own."""
        if self._site is None:
            spawner = self.spawner
            limit, settings = self._start_timeout, self.settings()
            cluster = (settings.cluster or "").replace("{cluster}", spawner.req_cluster)
            session = {"boot_limit": _time(limit), "queue_limit": _time(limit)} if limit else {}
            title = {"en": "JupyterLab in Slurm", "zh": "Slurm 中的 JupyterLab"}
            profile = {"title": title, "image": "host", "partition": "default", "memory": "1M", "time": "0:01"}
            self._site = parse_site(
                {
                    "name": f"hub-{sha256(spawner.hub.api_url)[:10]}",
                    "title": title,
                    "slurm": {"bin": settings.bin, "cluster": cluster or None},
                    "images": {"host": {"path": "/", "title": title}},
                    "profiles": {PROFILE: {**profile, "for_runs": False}},
                    "session": session,
                },
                "batchspawner's settings",
            )
        return self._site

    def settings(self) -> OldSettings:
        """Raises SettingRefused."""
        spawner = self.spawner
        return settings_of(
            {name: str(getattr(spawner, name)) for name in DEFAULTS},
            settings_in(spawner.config),
            spawner.trait_names(),
            spawner.option_patterns,
        )

    def choices(self, options: Any) -> dict[str, str]:
        """What the user chose. Inside wrapspawner's profiles the options are the wrapper's. Raises Invalid."""
        if self.spawner.owner is not self.spawner:
            return {}
        return read_choices(read_patterns(self.spawner.option_patterns), options)

    def resources(self, options: Any) -> Resources:
        """Checks the options. What is asked for stands in the script, so the numbers mean nothing."""
        self.choices(options)
        profile, image = self.site.profiles[PROFILE], self.site.images["host"]
        return Resources(
            profile=PROFILE, image_id="host", image=image, partition=profile.partition, account=None, qos=None,
            reservation=None, nodes=1, gpus=0, gpu_type=None, cpus=1, memory_mib=0, time_seconds=0,
        )  # fmt: skip

    def values(self, account: PosixUser) -> dict[str, str]:
        """The req_ traits by the names that templates have for them, without what the user chose."""
        spawner = self.spawner
        kept = kept_variables(spawner)
        values = {
            name: str(getattr(spawner, f"req_{name}"))
            for name in requirements(spawner.trait_names())
            if name not in ("keepvars", "username", "homedir")
        }
        names = dict.fromkeys(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", *kept))
        return {**values, "keepvars": ",".join(names), "username": account.name, "homedir": account.home}

    def term_argv(self, job_id: str) -> list[str]:
        """Before the cancel: TERM for all processes of a site's script, since scancel by itself sends it to the shell
        alone, which waits, and then KILL (KillWait) would be the first that the server hears."""
        return ["scancel", "--full", "--signal=TERM", job_id]

    def cancel_argv(self, job_id: str, account: PosixUser | None) -> list[str]:
        """`batch_cancel_cmd`; Slurm's own where there is no such account any more, or a hook broke the setting: a job
        must not be left running for that."""
        if account is not None:
            try:
                return self.settings().cancel.filled({**self.values(account), "job_id": job_id})
            except SettingRefused as error:
                self.spawner.log.warning("siflab: job %s is cancelled by scancel: %s", job_id, error)
        return ["scancel", job_id]

    def job(self, account: PosixUser, claim: Mapping[str, object], comment: str) -> OldJob:
        """Raises SettingRefused or Invalid."""
        spawner, settings = self.spawner, self.settings()
        _check_account(settings, account)
        own = self.values(account)
        chosen = self.choices(spawner.user_options)
        exports = kept_variables(spawner)
        unset = dict.fromkeys(read_patterns(spawner.option_patterns), "")
        body = render(settings.script, {**unset, **own, **chosen, "cmd": settings.server.cmd})
        options = {one.name: one.value for one in sbatch_line.directives(body.encode("utf-8", "surrogateescape"))}
        lines = JobLines({**claim, "clients": False}, exports, self.site.session.folder)
        argv = settings.submit.filled(own)
        argv += [] if "--parsable" in argv else ["--parsable"]
        argv += ["--no-requeue", f"--comment={comment}"]
        argv += [] if "chdir" in options else [f"--chdir={account.home}"]
        facts = {
            "profile": PROFILE,
            "image_id": "",
            "home_host": account.home,
            "home_inside": "",
            "partition": options.get("p") or options.get("partition") or "",
            "resources": {"partition": options.get("p") or options.get("partition") or ""},
            "command": settings.server.argv(list(spawner.cmd or [])),
            "in_job": sorted(exports),
        }
        return OldJob(argv, with_lines(body, lines.text()), _log_pattern(options, account), facts)


def settings_of(
    texts: Mapping[str, str], found: Mapping[str, tuple[str, Any]], traits: Any, patterns: Mapping[str, str]
) -> OldSettings:
    """As `read_settings`, from traits and configuration. batchspawner's own default script becomes ours."""
    texts = {name: texts[name] for name in DEFAULTS}
    if texts["batch_script"] == _BATCHSPAWNERS_SCRIPT:
        texts["batch_script"] = DEFAULT_SCRIPT
    spelled = {name: found[name][0] for name in DEFAULTS if name in found}
    return read_settings(
        tuple(texts.items()), tuple(spelled.items()), tuple(requirements(traits)), tuple(sorted(patterns.items()))
    )


def _check_account(settings: OldSettings, account: PosixUser) -> None:
    """What goes into the script as it is must be one plain word there."""
    used = names_in(settings.script)
    for name, value in (("username", account.name), ("homedir", account.home)):
        if name in used and not _PLAIN_NAME.fullmatch(value):
            raise Invalid(
                [
                    FieldError(
                        "user",
                        "odd-account",
                        Text(
                            f"{value!r} has characters that cannot be put into this site's batch_script; ask your "
                            "administrator",
                            f"{value!r} 中含有不能写入本站点 batch_script 的字符；请联系管理员",
                        ),
                    )
                ]
            )


def _log_pattern(options: Mapping[str, str | None], account: PosixUser) -> str:
    """Where Slurm writes the job's log, with ``%j`` for the id; empty when the pattern has what only Slurm knows."""
    folder = (options.get("chdir") or account.home).rstrip("/")
    pattern = (options.get("output") or "slurm-%j.out").replace("%A", "%j").replace("%u", account.name)
    if re.search(r"%(?![j%])", pattern):
        return ""
    return pattern if pattern.startswith("/") else f"{folder}/{pattern}"


def _time(seconds: int) -> str:
    return f"{seconds // 3600}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
