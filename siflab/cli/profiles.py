"""`siflab profiles`."""

import argparse
from typing import Any

from siflab.cli.terminal import in_words, pick, print_json, say, table
from siflab.config import Profile
from siflab.runs import Viewer, site_view
from siflab.runs.views import allowed
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time


def profiles(options: argparse.Namespace) -> int:
    viewer = Viewer.here()
    seen = site_view(viewer)
    if options.json:
        print_json({"profiles": seen["profiles"], "default_profile": seen["default_profile"]})
        return 0
    header = [
        pick("PROFILE", "配置"),
        pick("WHAT", "说明"),
        pick("PARTITION", "分区"),
        "GPU",
        "CPU",
        pick("MEMORY", "内存"),
        pick("TIME", "时间"),
        pick("IMAGE", "镜像"),
    ]
    rows = [
        _row(name, profile, name == seen["default_profile"])
        for name, profile in viewer.site.profiles.items()
        if profile.for_runs
    ]
    say(table(header, rows, [0, 36, 0, 0, 0, 0, 0, 0]))
    say(pick("* default; in brackets: what you may choose", "* 默认；括号内为可选范围"))
    return 0


def _row(name: str, profile: Profile, is_default: bool) -> list[str]:
    ranges = allowed(profile.allow, profile)
    gpus = f"{profile.gpus} {profile.gpu_type or ''}".strip() if profile.gpus or "gpus" in ranges else "-"
    return [
        f"{name}{'*' if is_default else ''}",
        in_words(profile.title),
        profile.partition,
        gpus + _range(ranges.get("gpus")),
        str(profile.cpus) + _range(ranges.get("cpus")),
        format_memory(profile.memory) + _range(ranges.get("memory")),
        format_time(profile.time) + _range(ranges.get("time")),
        profile.image + _range(ranges.get("image")),
    ]


def _range(allowed_values: dict[str, Any] | None) -> str:
    if allowed_values is None:
        return ""
    if "choices" in allowed_values:
        return f" ({', '.join(map(str, allowed_values['choices']))})"
    least = allowed_values.get("min")
    return f" ({least}-{allowed_values['max']})" if least is not None else f" (<= {allowed_values['max']})"
