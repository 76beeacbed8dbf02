"""What a person chose on a site's own form, or sent to the REST API: only what the site lists reaches its script.

batchspawner puts every key of ``user_options`` into the template's variables, over the site's own settings, whatever it
holds. Here a key must be listed and its value match the listed pattern. Whatever a pattern allows, a value has only
characters that mean nothing to a shell, quoted in any way or not, and begins with no ``-``: it stays one word.
"""

import re
from collections.abc import Mapping
from typing import Any

from siflab.errors import FieldError, Invalid
from siflab.text import Text
from siflab_spawner.batchspawner_compat.refused import SettingRefused

PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.:,+-]{0,63}"
"""What a value must match where the site names no pattern: 2:00:00, 16G, gpu:a100:2, gpu,cpu ..."""
NAMES = ("partition", "runtime", "memory", "nprocs", "ngpus", "gres", "qos", "account", "reservation", "queue", "host")
"""Without the trait `option_patterns`: the req_ settings that are one plain word."""
_RESERVED = ("cmd", "keepvars", "keepvars_extra", "username", "homedir", "prologue", "epilogue", "srun", "options")
_PLAIN = re.compile(r"[A-Za-z0-9_.,:@+/][A-Za-z0-9_.,:=@+/%-]*", re.ASCII)
_LONGEST = 256
_SETTING = "c.SingularitySlurmSpawner.option_patterns"


def read_patterns(listed: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    """The patterns by key. Raises SettingRefused for one that is none, and for keys that are not for users."""
    patterns = {}
    for name, pattern in (listed or dict.fromkeys(NAMES, PATTERN)).items():
        if name in _RESERVED or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,63}", name):
            raise SettingRefused(
                _SETTING,
                Text(
                    f"{name!r} cannot be a user's to choose: it is a piece of the script, not a plain word",
                    f"{name!r} 不能由用户选择：它是脚本片段，而不是普通的值",
                ),
            )
        try:
            patterns[name] = re.compile(pattern or PATTERN, re.ASCII)
        except re.error as error:
            raise SettingRefused(
                _SETTING,
                Text(
                    f"{name}: {pattern!r} is no regular expression ({error})",
                    f"{name}：{pattern!r} 不是正则表达式（{error}）",
                ),
            ) from error
    return patterns


def read_choices(patterns: Mapping[str, re.Pattern[str]], options: Any) -> dict[str, str]:
    """The values by key; an empty one takes the place of the site's own, as in batchspawner, unless the
    site gave a pattern that it does not match. Raises Invalid."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise Invalid([FieldError("", "not-an-object", Text("options must be a JSON object", "选项必须是 JSON 对象"))])
    chosen, errors = {}, []
    for name, value in options.items():
        pattern = patterns.get(name) if isinstance(name, str) else None
        if pattern is None:
            errors.append(_unknown(str(name)[:64], patterns))
            continue
        if isinstance(value, list) and len(value) == 1:  # as JupyterHub hands on a form that nobody read
            value = value[0]
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            errors.append(FieldError(name, "wrong-type", Text("must be a text or a number", "必须是文本或数字")))
            continue
        text = str(value)
        if not text and pattern.pattern != PATTERN and not pattern.fullmatch(text):
            continue  # to leave a limit of the site's out is not to keep it
        if text and (len(text) > _LONGEST or not _PLAIN.fullmatch(text) or not pattern.fullmatch(text)):
            errors.append(
                FieldError(
                    name,
                    "not-allowed",
                    Text(
                        f"{text[:64]!r} is not allowed here: it must match {pattern.pattern}, in letters, digits and "
                        "_.,:=@+/%-",
                        f"此处不允许 {text[:64]!r}：须匹配 {pattern.pattern}，且仅含字母、数字和 _.,:=@+/%-",
                    ),
                )
            )
            continue
        chosen[name] = text
    if errors:
        raise Invalid(errors)
    return chosen


def _unknown(name: str, patterns: Mapping[str, Any]) -> FieldError:
    listed = ", ".join(sorted(patterns))
    return FieldError(
        name,
        "unknown-option",
        Text(
            f"there is no such option; there are: {listed}. If the site's form sends it, the administrator lists it in "
            f"{_SETTING}",
            f"没有这个选项；可用：{listed}。若它来自站点的表单，请管理员将其列入 {_SETTING}",
        ),
    )
