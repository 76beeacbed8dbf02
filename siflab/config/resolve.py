"""From what a person chose to what Slurm is asked for: the one validation of the form, the REST API and the CLI."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from siflab.config.models import CountRange, Image, Profile, Site
from siflab.errors import FieldError, Invalid
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
    image_id = _image(site, profile, choice.image, errors)
    if purpose == "session" and profile.nodes != 1:
        errors.append(FieldError("nodes", "one-node", Text("a session runs on one node", "会话只能使用一个节点")))
    resources = Resources(
        profile=choice.profile,
        image_id=image_id,
        image=site.images[image_id],
        partition=profile.partition,
        account=profile.account,
        qos=profile.qos,
        reservation=profile.reservation,
        nodes=_count("nodes", choice.nodes, profile.nodes, profile.allow.nodes, errors, at_least=1),
        gpus=_count("gpus", choice.gpus, profile.gpus, profile.allow.gpus, errors, at_least=0),
        gpu_type=profile.gpu_type,
        cpus=_count("cpus", choice.cpus, profile.cpus, profile.allow.cpus, errors, at_least=1),
        memory_mib=_amount(
            "memory",
            choice.memory,
            profile.memory,
            profile.allow.memory.max if profile.allow.memory else None,
            parse_memory,
            format_memory,
            Text("an amount of memory such as 16G", "内存大小，例如 16G"),
            errors,
        ),
        time_seconds=_amount(
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


def _image(site: Site, profile: Profile, value: Any, errors: list[FieldError]) -> str:
    if value in (None, "", profile.image):
        return profile.image
    if isinstance(value, str) and value in profile.allow.image:
        return value
    listed = ", ".join(dict.fromkeys((profile.image, *profile.allow.image)))
    code = "image-not-allowed" if isinstance(value, str) and value in site.images else "unknown-image"
    errors.append(
        FieldError(
            "image",
            code,
            Text(
                f"image {str(value)[:64]!r} cannot be chosen with this profile; there are: {listed}",
                f"此配置不能选择镜像 {str(value)[:64]!r}；可选：{listed}",
            ),
        )
    )
    return profile.image


def _count(
    field: str, value: Any, preset: int, allowed: CountRange | None, errors: list[FieldError], at_least: int
) -> int:
    if value in (None, ""):
        return preset
    try:
        if isinstance(value, bool | float):
            raise ValueError
        number = int(str(value).strip())
    except ValueError:
        errors.append(
            FieldError(
                field,
                "not-a-number",
                Text(f"{str(value)[:32]!r} is not a whole number", f"{str(value)[:32]!r} 不是整数"),
            )
        )
        return preset
    if number == preset:
        return number
    if allowed is None:
        errors.append(
            FieldError(
                field,
                f"{field}-fixed",
                Text(
                    f"this profile has {preset}, and it cannot be changed; choose another profile",
                    f"此配置固定为 {preset}，不能更改；请选择其他配置",
                ),
            )
        )
    elif number < at_least or not allowed.allows(number):
        highest = max(allowed.choices) if allowed.choices else allowed.max or 0
        code = f"too-many-{field}" if number > highest else f"{field}-out-of-range"
        errors.append(
            FieldError(
                field,
                code,
                Text(
                    f"{number} is not possible with this profile; possible: {allowed.in_words()}",
                    f"此配置不允许 {number}；可选：{allowed.in_words()}",
                ),
            )
        )
    return number


def _amount(
    field: str,
    value: Any,
    preset: int,
    most: int | None,
    parse: Callable[[str], int],
    show: Callable[[int], str],
    expected: Text,
    errors: list[FieldError],
) -> int:
    if value in (None, ""):
        return preset
    try:
        if isinstance(value, bool):
            raise ValueError
        amount = parse(str(value))
    except ValueError:
        amount = 0
    if amount <= 0:
        errors.append(
            FieldError(
                field,
                f"not-a-{field}",
                Text(
                    f"{str(value)[:32]!r} cannot be read; write {expected.en}",
                    f"无法识别 {str(value)[:32]!r}；请填写{expected.zh}",
                ),
            )
        )
        return preset
    limit = preset if most is None else max(most, preset)
    if amount > limit:
        errors.append(
            FieldError(
                field,
                f"{field}-over-limit",
                Text(
                    f"{show(amount)} is more than this profile allows ({show(limit)}); ask for less",
                    f"{show(amount)} 超过此配置上限（{show(limit)}）；请减少",
                ),
            )
        )
    return amount
