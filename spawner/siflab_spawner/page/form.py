"""The spawn page's form: the profiles of site.yaml as cards, with the fields that each lets a person change."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from siflab.config import Profile, Site, usable_profiles
from siflab.errors import FieldError
from siflab.slurm.memory import format_memory
from siflab.slurm.time import format_time
from siflab.text import Text
from siflab_spawner.page.form_fields import Field, Fields
from siflab_spawner.page.form_words import LABELS, in_language
from siflab_spawner.page.static_files import static_url

__all__ = ["LABELS", "render_form"]

_ENVIRONMENT = Environment(
    loader=PackageLoader("siflab_spawner.page", "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["duration"] = format_time
_ENVIRONMENT.filters["memory"] = lambda mib: f"{mib // 1024}G" if mib >= 1024 else f"{mib}M"


@dataclass(frozen=True)
class Card:
    """One profile as it is shown. `why` is the reason when it cannot be started at all, `note` a word of caution."""

    key: str
    title: str
    description: str
    facts: tuple[str, ...]
    gpu: str
    partition: str
    free: str
    why: str
    note: str
    fields: tuple[Field, ...]
    chosen: bool


def render_form(
    site: Site,
    language: str,
    groups: Iterable[str],
    last: Mapping[str, Any] | None = None,
    errors: Sequence[FieldError] = (),
    notice: Text | None = None,
    offer: Mapping[str, Any] | None = None,
    base_url: str = "/hub/",
    user: str = "",
) -> str:
    """The inside of JupyterHub's spawn form; everything is escaped by the template. `last` is what to show as chosen
    (untrusted: as it was sent), `errors` what was wrong with it, `notice` what is to be said first, `offer` what Slurm
    has for this person (JSON of GET /hub/api/siflab/offer), `base_url` the Hub's own, `user` whose session it is."""
    profiles = usable_profiles(site, "session", groups)
    last = last if isinstance(last, Mapping) else {}
    words = in_language(language)
    offered = (offer or {}).get("profiles") or {}
    possible = [key for key in profiles if offered.get(key, {}).get("possible", True)]
    wanted = last.get("profile")
    chosen = wanted if isinstance(wanted, str) and wanted in profiles else next(iter(possible), None)
    wrong = {error.field: error.message.to(language) for error in errors}
    states = {partition["name"]: partition for partition in (offer or {}).get("partitions") or ()}
    cards = []
    for key, profile in profiles.items():
        mine, its = offered.get(key) or {}, states.get(profile.partition)
        shown = (last, wrong) if key == chosen else ({}, {})
        fields = tuple(Fields(site, profile, words, language, *shown, mine).all())
        cards.append(_card(site, key, profile, words, language, key == chosen, fields, mine, its))
    return _ENVIRONMENT.get_template("spawn_form.html").render(
        cards=cards,
        words=words,
        words_json=json.dumps(words, ensure_ascii=False),
        lang="zh-CN" if language == "zh" else "en",
        language=language,
        notice=notice.to(language) if notice else "",
        other_errors=[message for field, message in wrong.items() if field not in LABELS or field == "profile"],
        offer=offer,
        partitions=list((offer or {}).get("partitions") or ()),
        at=_clock((offer or {}).get("taken_at")),
        base_url=base_url,
        user=user,
        static_url=static_url,
        gpu_label=gpu_label,
    )


def _card(
    site: Site,
    key: str,
    profile: Profile,
    words: Mapping[str, str],
    language: str,
    chosen: bool,
    fields: tuple[Field, ...],
    offered: Mapping[str, Any],
    partition: Mapping[str, Any] | None,
) -> Card:
    label = gpu_label(profile.gpu_type or "GPU")
    gpus = f"{profile.gpus} x {label}" if profile.gpus else words["no_gpu"]
    facts = (
        site.images[profile.image].title.to(language),
        gpus,
        f"{profile.cpus} CPU",
        format_memory(profile.memory),
        format_time(profile.time),
    )
    why = offered.get("why") if not offered.get("possible", True) else None
    note = offered.get("note")
    return Card(
        key=key,
        title=profile.title.to(language),
        description=profile.description.to(language),
        facts=facts,
        gpu=label,
        partition=profile.partition,
        free=_free(words, label, offered, partition),
        why=words["not_possible"].format(why=why[language]) if why else "",
        note=note[language] if note else "",
        fields=fields,
        chosen=chosen,
    )


def _free(words: Mapping[str, str], label: str, offered: Mapping[str, Any], partition: Mapping[str, Any] | None) -> str:
    """``2 of 8 A100 free now · partition gpu-a100 is up``; empty where nothing is known."""
    parts = []
    if offered.get("gpus_total") is not None:
        numbers = {"free": offered.get("gpus_free") or 0, "total": offered["gpus_total"]}
        parts.append(words["free_gpus"].format(type=label, **numbers))
    elif partition is not None:
        parts.append(words["free_cpus"].format(free=partition["cpus_free"], total=partition["cpus_total"]))
    if partition is not None:
        state = words[f"state_{partition['state']}"]
        parts.append(words["partition_is"].format(name=partition["name"], state=state))
    return " · ".join(parts)


def gpu_label(name: str) -> str:
    """``a100`` is written ``A100``; names with a separator, such as ``1g.10gb`` and ``nvidia_h100``, stay."""
    return name.upper() if name.isalnum() and name != "shard" else name


def _clock(moment: Any) -> str:
    """The time of day of an ISO time, empty for none."""
    return datetime.fromisoformat(moment).astimezone().strftime("%H:%M:%S") if moment else ""
