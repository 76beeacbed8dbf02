"""The names that a person may choose from in a profile's lists, and what is said beside each."""

from siflab.config import Profile
from siflab.slurm.memory import format_memory
from siflab.slurm.rights import Rights, Target
from siflab.slurm.time import format_time
from siflab.text import Text

SELECTS = ("partition", "gpu_type", "account", "qos", "reservation")


def names_of(field: str, profile: Profile, rights: Rights, target: Target) -> list[str]:
    """What the profile says, first, then what it allows; with ``any`` what Slurm lets this person use. The empty name
    is what Slurm takes by itself."""
    preset, allowed = getattr(profile, field) or "", getattr(profile.allow, field)
    if allowed == "any":
        if field == "account":
            allowed = rights.accounts
        elif field == "qos":
            allowed = rights.qos_names(target) or ()
        else:
            allowed = [one.name for one in rights.reservations]
    return list(dict.fromkeys([preset, *allowed]))


def choice_words(field: str, value: str, rights: Rights, target: Target) -> Text:
    if field == "account":
        default = rights.accounting.default_accounts.get(rights.person.name)
        return Text.plain(value) if value else _usual(default)
    if field == "qos":
        name = value or rights.qos_of(target) or ""
        words, limits = Text.plain(value) if value else _usual(name or None), _qos_limits(name, rights)
        return words + limits if limits else words
    if field == "reservation":
        return _reservation(value, rights)
    return Text.plain(value) if value else Text("any", "任意")


def _usual(name: str | None) -> Text:
    return Text(f"usual ({name})", f"默认（{name}）") if name else Text("usual", "默认")


def _qos_limits(name: str, rights: Rights) -> Text | None:
    qos = rights.accounting.qos.get(name)
    gpus = qos.max_tres_per_user.get("gres/gpu") if qos else None
    memory = qos.max_tres_per_user.get("mem") if qos else None
    en, zh = [], []
    if gpus is not None:
        en.append(f"{gpus} GPU{'' if gpus == 1 else 's'}")
        zh.append(f"{gpus} 块 GPU")
    if memory is not None:
        en.append(format_memory(memory))
        zh.append(format_memory(memory))
    if qos and qos.max_wall is not None:
        en.append(format_time(qos.max_wall))
        zh.append(format_time(qos.max_wall))
    if not en:
        return None
    return Text(f"· up to {', '.join(en)}", f" · 最多 {'，'.join(zh)}")


def _reservation(name: str, rights: Rights) -> Text:
    found = rights.reservation(name)
    if not name or found is None:
        return Text.plain(name) if name else Text("none", "不使用")
    if not found.active and found.start:
        moment = f"{found.start:%Y-%m-%d %H:%M}"
        return Text(f"{name} · begins {moment}", f"{name} · {moment} 开始")
    if found.end:
        moment = f"{found.end:%Y-%m-%d %H:%M}"
        return Text(f"{name} · until {moment}", f"{name} · 至 {moment}")
    return Text.plain(name)
