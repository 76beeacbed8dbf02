"""From what a person chose to what Slurm is asked for: the one validation of the form, the REST API and the CLI."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from siflab.config.checking import check_amount, check_count, check_image, check_name
from siflab.config.models import Image, Profile, Site
from siflab.errors import FieldError, Invalid
from siflab.slurm.gres import SHARD
from siflab.slurm.memory import format_memory, parse_memory
from siflab.slurm.time import format_time, parse_time
from siflab.text import Text

Purpose = Literal["session", "run"]


@dataclass(frozen=True)
class Choice:
    """What a person chose, as it came: numbers may be text; None or empty means what the profile says."""

    profile: Any = None
    image: Any = None
    nodes: Any = None
    gpus: Any = None
    cpus: Any = None
    memory: Any = None
    time: Any = None
    partition: Any = None
    gpu_type: Any = None
    account: Any = None
    qos: Any = None
    reservation: Any = None


@dataclass(frozen=True)
class Resources:
    """What is asked of Slurm. Counts and memory are per node."""

    profile: str
    image_id: str
    image: Image
    partition: str
    account: str | None
    qos: str | None
    reservation: str | None
    nodes: int
    gpus: int
    gpu_type: str | None
    cpus: int
    memory_mib: int
    time_seconds: int

    def gres(self) -> str | None:
        """For sbatch's --gres, e.g. ``gpu:a100:2``; None without GPUs."""
        if not self.gpus:
            return None
        if self.gpu_type == SHARD:  # parts of a GPU are a generic resource of their own
            return f"shard:{self.gpus}"
        return f"gpu:{self.gpu_type}:{self.gpus}" if self.gpu_type else f"gpu:{self.gpus}"

    def gpu_hours(self) -> float:
        """At most, if it runs to its time limit."""
        return self.nodes * self.gpus * self.time_seconds / 3600

    def sbatch_options(self) -> list[str]:
        """The long options of sbatch for these resources, one task a node, sorted."""
        options = {
            "account": self.account,
            "cpus-per-task": self.cpus,
            "gres": self.gres(),
            "mem": format_memory(self.memory_mib),
            "nodes": self.nodes,
            "ntasks-per-node": 1,
            "partition": self.partition,
            "qos": self.qos,
            "reservation": self.reservation,
            "time": format_time(self.time_seconds),
        }
        return [f"--{name}={value}" for name, value in sorted(options.items()) if value is not None]

    def as_dict(self) -> dict[str, object]:
        """The `Resources` of openapi.yaml."""
        return {
            "partition": self.partition,
            "nodes": self.nodes,
            "gpus": self.gpus,
            "gpu_type": self.gpu_type,
            "cpus": self.cpus,
            "memory_mib": self.memory_mib,
            "time_seconds": self.time_seconds,
            "image": self.image_id,
        }


def usable_profiles(site: Site, purpose: Purpose, groups: Iterable[str] | None = None) -> dict[str, Profile]:
    """The profiles for this purpose that a member of `groups` may use, in the order of the file. With None the groups
    are not known here and every profile is offered: Slurm's own limits decide."""
    mine = None if groups is None else set(groups)
    return {
        name: profile
        for name, profile in site.profiles.items()
        if (profile.for_sessions if purpose == "session" else profile.for_runs)
        and (mine is None or not profile.groups or mine & set(profile.groups))
    }


def resolve(site: Site, choice: Choice, purpose: Purpose, groups: Iterable[str] | None = None) -> Resources:
    """The resources of a choice. Raises Invalid with one error for each field that is wrong."""
    profiles = usable_profiles(site, purpose, groups)
    profile = profiles.get(choice.profile) if isinstance(choice.profile, str) else None
    if profile is None:
        raise Invalid([_unknown_profile(choice.profile, profiles)])
    errors: list[FieldError] = []
    image_id = check_image(site, profile, choice.image, errors)
    if purpose == "session" and profile.nodes != 1:
        errors.append(FieldError("nodes", "one-node", Text("a session runs on one node", "会话只能使用一个节点")))
    resources = Resources(
        profile=choice.profile,
        image_id=image_id,
        image=site.images[image_id],
        partition=check_name("partition", choice.partition, profile.partition, profile.allow.partition, errors),
        account=check_name("account", choice.account, profile.account, profile.allow.account, errors),
        qos=check_name("qos", choice.qos, profile.qos, profile.allow.qos, errors),
        reservation=check_name(
            "reservation", choice.reservation, profile.reservation, profile.allow.reservation, errors
        ),
        nodes=check_count("nodes", choice.nodes, profile.nodes, profile.allow.nodes, errors, at_least=1),
        gpus=check_count("gpus", choice.gpus, profile.gpus, profile.allow.gpus, errors, at_least=0),
        gpu_type=check_name("gpu_type", choice.gpu_type, profile.gpu_type, profile.allow.gpu_type, errors),
        cpus=check_count("cpus", choice.cpus, profile.cpus, profile.allow.cpus, errors, at_least=1),
        memory_mib=check_amount(
            "memory",
            choice.memory,
            profile.memory,
            profile.allow.memory.max if profile.allow.memory else None,
            parse_memory,
            format_memory,
            Text("an amount of memory such as 16G", "内存大小，例如 16G"),
            errors,
        ),
        time_seconds=check_amount(
            "time",
            choice.time,
            profile.time,
            profile.allow.time.max if profile.allow.time else None,
            parse_time,
            format_time,
            Text("a time such as 2:00:00 or 1-00:00:00", "时间，例如 2:00:00 或 1-00:00:00"),
            errors,
        ),
    )
    if errors:
        raise Invalid(errors)
    return resources


def _unknown_profile(name: object, profiles: dict[str, Profile]) -> FieldError:
    listed = ", ".join(profiles) or "-"
    if name in (None, ""):
        return FieldError("profile", "missing", Text(f"choose a profile: {listed}", f"请选择资源配置：{listed}"))
    near = difflib.get_close_matches(str(name), profiles, n=1)
    hint = Text(f"; did you mean {near[0]}?", f"；是否指 {near[0]}？") if near else Text(".", "。")
    return FieldError(
        "profile",
        "unknown-profile",
        Text(
            f"there is no profile {str(name)[:64]!r} for you here{hint.en} There are: {listed}",
            f"没有可用的资源配置 {str(name)[:64]!r}{hint.zh} 可选：{listed}",
        ),
    )
