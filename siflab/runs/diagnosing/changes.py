"""What to change before it runs again, within what the profile lets a person choose."""

from siflab.config import Profile, Site
from siflab.runs.diagnosing.case import Case
from siflab.runs.diagnosing.diagnosis import Change
from siflab.runs.diagnosing.words import duration, gigabytes
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time
from siflab.text import Text

_MEMORY = frozenset({"host_memory", "killed", "worker_died"})
_AS_IT_WAS = frozenset(
    {"node_failure", "preemption", "cancelled", "stopped", "gpu_broken", "port_in_use", "rendezvous", "step_failed"}
    | {"disk_full", "network"}
)
_OTHER_IMAGE = frozenset({"driver", "no_kernel_image", "cpu_build", "missing_library", "image_broken", "image_unfit"})
_ATTEMPTS = 3
_GIB = 1024
AGAIN = Change(Text("again as it was", "按原样重新运行"))


def changes(case: Case, cause: str, site: Site, profile_id: str) -> tuple[tuple[Change, ...], Text | None]:
    """The changes, and what the profile does not let be changed though it would help."""
    profile = site.profiles.get(profile_id)
    if profile is None:
        return (), None
    if cause in _MEMORY:
        return _memory(case, profile, profile_id)
    if cause == "time_limit":
        return _time(case, profile, profile_id)
    if cause == "no_gpu" and not case.asked_number("gpus"):
        return _gpus(profile, profile_id)
    if cause in _OTHER_IMAGE:
        return _images(case, site, profile), None
    if cause in ("preemption", "node_failure") and case.attempts_asked < _ATTEMPTS:
        more = Change(
            Text(f"again with {_ATTEMPTS} attempts", f"重新运行，最多 {_ATTEMPTS} 次尝试"), {"attempts": _ATTEMPTS}
        )
        return (AGAIN, more), None
    return ((AGAIN,) if cause in _AS_IT_WAS else ()), None


def _memory(case: Case, profile: Profile, name: str) -> tuple[tuple[Change, ...], Text | None]:
    """Half as much again as was asked for, a quarter more than was seen to be used."""
    asked = case.asked_number("memory_mib")
    wanted = max(asked * 3 // 2, (case.used_mib or 0) * 5 // 4)
    wanted = -(-wanted // _GIB) * _GIB if wanted >= _GIB else wanted
    most = profile.allow.memory.max if profile.allow.memory is not None else max(asked, profile.memory)
    ends = _ends(name, Text(f"{gigabytes(most)} of memory", f"{gigabytes(most)} 内存"))
    if not asked or most <= asked:
        return (), ends
    memory = min(wanted, most)
    size = gigabytes(memory)
    change = Change(Text(f"again with {size}", f"以 {size} 内存重新运行"), {"memory": format_memory(memory)})
    return (change,), ends if memory < wanted else None


def _time(case: Case, profile: Profile, name: str) -> tuple[tuple[Change, ...], Text | None]:
    """Twice the time, and more attempts."""
    asked = case.asked_number("time_seconds")
    most = profile.allow.time.max if profile.allow.time is not None else max(asked, profile.time)
    longer, more = min(2 * asked, most), case.attempts_asked < _ATTEMPTS
    ends = _ends(name, duration(most)) if longer < 2 * asked else None
    request: dict[str, object] = {}
    parts_en, parts_zh = [], []
    if longer > asked:
        request["time"] = format_time(longer)
        parts_en.append(duration(longer).en)
        parts_zh.append(duration(longer).zh)
    if more:
        request["attempts"] = _ATTEMPTS
        parts_en.append(f"{_ATTEMPTS} attempts")
        parts_zh.append(f"{_ATTEMPTS} 次尝试")
    if not request:
        return (), ends
    title = Text(f"again with {' and '.join(parts_en)}", f"以 {'、'.join(parts_zh)}重新运行")
    return (Change(title, request),), ends


def _gpus(profile: Profile, name: str) -> tuple[tuple[Change, ...], Text | None]:
    allowed = profile.allow.gpus
    if profile.gpus or (allowed is not None and allowed.allows(1)):
        number = profile.gpus or 1
        return (Change(Text(f"again with {number} GPU", f"以 {number} 个 GPU 重新运行"), {"gpus": number}),), None
    return (), Text(
        f"The profile {name} has no GPUs: choose another one.", f"资源配置 {name} 没有 GPU：请选择其他配置。"
    )


def _images(case: Case, site: Site, profile: Profile) -> tuple[Change, ...]:
    now = case.asked.get("image")
    others = [image for image in dict.fromkeys((profile.image, *profile.allow.image)) if image != now][:3]
    return tuple(
        Change(
            Text(
                f"again in the image {site.images[image].title.en}", f"在镜像 {site.images[image].title.zh} 中重新运行"
            ),
            {"image": image},
        )
        for image in others
    )


def _ends(name: str, at: Text) -> Text:
    return Text(
        f"The profile {name} ends at {at.en}: for more choose another one.",
        f"资源配置 {name} 的上限为 {at.zh}：如需更多请选择其他配置。",
    )
