"""One field of a choice: what a person may put there, and what is said of the rest."""

import re
from collections.abc import Callable
from typing import Any, overload

from siflab.config.models import CountRange, Names, Profile, Site
from siflab.errors import FieldError
from siflab.text import Text

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]{0,63}", re.ASCII)


@overload
def check_name(field: str, value: Any, preset: str, allowed: Names, errors: list[FieldError]) -> str: ...
@overload
def check_name(field: str, value: Any, preset: str | None, allowed: Names, errors: list[FieldError]) -> str | None: ...
def check_name(field: str, value: Any, preset: str | None, allowed: Names, errors: list[FieldError]) -> str | None:
    """A name that Slurm has: the preset, or one of `allowed`; with ``any`` whether this user may use it is asked of
    Slurm, not here."""
    if value in (None, "", preset):
        return preset
    if isinstance(value, str) and _NAME.fullmatch(value) and (allowed == "any" or value in allowed):
        return value
    shown = str(value)[:64]
    if not allowed:
        words = Text(
            f"this profile has {preset or 'none'}, and it cannot be changed; choose another profile",
            f"此配置固定为 {preset or '无'}，不能更改；请选择其他配置",
        )
        errors.append(FieldError(field, f"{field}-fixed", words))
    elif allowed == "any":
        words = Text(f"{shown!r} is no name that Slurm can have", f"{shown!r} 不是 Slurm 中可能的名称")
        errors.append(FieldError(field, f"not-a-{field}", words))
    else:
        listed = ", ".join(dict.fromkeys((*((preset,) if preset else ()), *allowed)))
        words = Text(
            f"{shown!r} cannot be chosen with this profile; there are: {listed}",
            f"此配置不能选择 {shown!r}；可选：{listed}",
        )
        errors.append(FieldError(field, f"{field}-not-allowed", words))
    return preset


def check_image(site: Site, profile: Profile, value: Any, errors: list[FieldError]) -> str:
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


def check_count(
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


def check_amount(
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
