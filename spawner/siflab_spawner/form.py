"""The spawn page's form: the profiles of site.yaml as cards, with the fields that each lets a person change."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from siflab.config import Profile, Site, usable_profiles
from siflab.errors import FieldError
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time
from siflab.text import Text

_ENVIRONMENT = Environment(
    loader=PackageLoader("siflab_spawner", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)

LABELS: dict[str, Text] = {
    "profile": Text("Profile", "资源配置"),
    "image": Text("Image", "镜像"),
    "gpus": Text("GPUs", "GPU 数"),
    "cpus": Text("CPUs", "CPU 数"),
    "memory": Text("Memory", "内存"),
    "time": Text("Time limit", "时间上限"),
}
_WORDS: dict[str, Text] = {
    **LABELS,
    "choose": Text("Choose what to start", "选择要启动的资源"),
    "no_gpu": Text("no GPU", "无 GPU"),
    "up_to": Text("up to", "最多"),
    "none": Text(
        "There is no profile that you may use. Ask your administrator to add you to a group of this site.",
        "没有您可以使用的资源配置。请联系管理员将您加入相应的用户组。",
    ),
}


@dataclass(frozen=True)
class Field:
    """One field that a profile lets a person change. `choices` are (value, words); without them it is typed in."""

    key: str
    label: str
    value: str
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    number: bool = False
    error: str = ""


@dataclass(frozen=True)
class Card:
    """One profile as it is shown."""

    key: str
    title: str
    description: str
    facts: tuple[str, ...]
    fields: tuple[Field, ...]
    chosen: bool


def render_form(
    site: Site,
    language: str,
    groups: Iterable[str],
    last: Mapping[str, Any] | None = None,
    errors: Sequence[FieldError] = (),
    notice: Text | None = None,
) -> str:
    """The inside of JupyterHub's spawn form. `last` is the last choice (untrusted: as it was sent), `errors` what was
    wrong with it, `notice` what is to be said first. Everything is escaped by the template."""
    profiles = usable_profiles(site, "session", groups)
    last = last if isinstance(last, Mapping) else {}
    wanted = last.get("profile")
    chosen = wanted if isinstance(wanted, str) and wanted in profiles else next(iter(profiles), None)
    wrong = {error.field: error.message.to(language) for error in errors}
    cards = [
        _card(site, key, profile, language, key == chosen, last if key == wanted else {}, wrong)
        for key, profile in profiles.items()
    ]
    words = {name: text.to(language) for name, text in _WORDS.items()}
    lang = "zh-CN" if language == "zh" else "en"
    return _ENVIRONMENT.get_template("spawn_form.html").render(
        cards=cards, words=words, lang=lang, notice=notice.to(language) if notice else ""
    )


def _card(
    site: Site,
    key: str,
    profile: Profile,
    language: str,
    chosen: bool,
    last: Mapping[str, Any],
    wrong: Mapping[str, str],
) -> Card:
    image = site.images[profile.image].title.to(language)
    gpus = f"{profile.gpus} x {profile.gpu_type or 'GPU'}" if profile.gpus else _WORDS["no_gpu"].to(language)
    cpus = f"{profile.cpus} CPU"
    facts = (image, gpus, cpus, format_memory(profile.memory), format_time(profile.time))
    shown_errors = wrong if chosen else {}
    return Card(
        key=key,
        title=profile.title.to(language),
        description=profile.description.to(language),
        facts=facts,
        fields=tuple(_fields(site, profile, language, last, shown_errors)),
        chosen=chosen,
    )


def _fields(
    site: Site, profile: Profile, language: str, last: Mapping[str, Any], wrong: Mapping[str, str]
) -> Iterable[Field]:
    def value(key: str, preset: str) -> str:
        return str(last[key])[:64] if last.get(key) not in (None, "") else preset

    def common(key: str) -> dict[str, Any]:
        return {"key": key, "label": _WORDS[key].to(language), "error": wrong.get(key, "")}

    up_to = _WORDS["up_to"].to(language)
    if profile.allow.image:
        ids = dict.fromkeys((profile.image, *profile.allow.image))
        choices = tuple((image, site.images[image].title.to(language)) for image in ids)
        yield Field(**common("image"), value=value("image", profile.image), choices=choices)
    for key, preset, allowed in (
        ("gpus", profile.gpus, profile.allow.gpus),
        ("cpus", profile.cpus, profile.allow.cpus),
    ):
        if allowed is None:
            continue
        if allowed.choices:
            numbers = tuple((str(number), str(number)) for number in sorted({preset, *allowed.choices}))
            yield Field(**common(key), value=value(key, str(preset)), choices=numbers)
        else:
            least = max(allowed.min, 1 if key == "cpus" else 0)
            yield Field(
                **common(key),
                value=value(key, str(preset)),
                number=True,
                hint=f"{min(least, preset)}-{max(allowed.max or 0, preset)}",
            )
    if profile.allow.memory:
        most = format_memory(max(profile.allow.memory.max, profile.memory))
        preset_memory = format_memory(profile.memory)
        yield Field(**common("memory"), value=value("memory", preset_memory), hint=f"{up_to} {most}")
    if profile.allow.time:
        longest = format_time(max(profile.allow.time.max, profile.time))
        preset_time = format_time(profile.time)
        yield Field(**common("time"), value=value("time", preset_time), hint=f"{up_to} {longest}")
