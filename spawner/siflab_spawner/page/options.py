"""What a person chose, from the form, from a link or from the REST API: one model and one validation for all three.

Nothing that is not a key of `Choice` is taken, and no value goes anywhere but into `siflab.config.resolve`.
"""

import html
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from tornado import web

from siflab.config import Choice, Resources, Site, resolve, usable_profiles
from siflab.errors import FieldError, Invalid
from siflab.text import Text
from siflab_spawner.language import in_words
from siflab_spawner.page.form import LABELS

KEYS = tuple(field.name for field in fields(Choice))
_LONGEST = 256


def read_form(form: Mapping[str, list[str]]) -> dict[str, str]:
    """The options of a form or of a link (lists of texts, as JupyterHub gives them); fields left empty are left out.

    A field that depends on the profile may be there once for each profile, as ``<profile>.<key>``: without JavaScript
    all profiles' fields are sent, and those of the chosen one count.
    """
    plain = {name: values[-1] for name, values in form.items() if values and isinstance(values[-1], str)}
    profile = plain.get("profile", "")
    options = {}
    for name, value in plain.items():
        owner, dot, key = name.rpartition(".")
        if dot and owner == profile and key in KEYS:
            options[key] = value.strip()
        elif not dot and name != "_xsrf":
            options.setdefault(name, value.strip())
    return {name: value for name, value in options.items() if value}


def check_options(options: Any) -> Choice:
    """The choice; raises Invalid for what has another shape (unknown keys, values that are no text or whole number)."""
    if not isinstance(options, dict):
        raise no_choice()
    errors = []
    listed = ", ".join(KEYS)
    for name, value in options.items():
        shown = str(name)[:64]
        if name not in KEYS:
            message = Text(f"there is no such option; there are: {listed}", f"没有这个选项；可用：{listed}")
            errors.append(FieldError(shown, "unknown-option", message))
        elif isinstance(value, bool) or not (value is None or isinstance(value, str | int)):
            message = Text("must be a text or a whole number", "必须是文本或整数")
            errors.append(FieldError(shown, "wrong-type", message))
        elif len(str(value)) > _LONGEST:
            message = Text(f"is longer than {_LONGEST} characters", f"超过 {_LONGEST} 个字符")
            errors.append(FieldError(shown, "too-long", message))
    if errors:
        raise Invalid(errors)
    return Choice(**options)


def no_choice() -> Invalid:
    """For what is no JSON object at all."""
    return Invalid([FieldError("", "not-an-object", Text("options must be a JSON object", "选项必须是 JSON 对象"))])


def resources_of(site: Site, options: Any, groups: Iterable[str]) -> Resources:
    """What Slurm is asked for. `groups` are the user's JupyterHub groups. Raises Invalid. Without any option the first
    profile that the user may use is taken, as JupyterHub's own start buttons and its REST API expect."""
    choice = check_options(options if options is not None else {})
    mine = list(groups)
    if choice == Choice():
        first = next(iter(usable_profiles(site, "session", mine)), None)
        choice = Choice(profile=first)
    return resolve(site, choice, "session", mine)


def bad_request(error: Invalid, language: str | None) -> web.HTTPError:
    """For JupyterHub: 400 with the message, on its pages (in `language`, fields by their label) and in its REST answers
    (None as language: both languages, fields by their key)."""
    lines = [_line(one, language) for one in error.errors]
    words = "; ".join(lines)
    failure = web.HTTPError(400, "%s", words, reason="Bad Request")
    failure.jupyterhub_message = words  # type: ignore[attr-defined]
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    failure.jupyterhub_html_message = f'<ul class="mb-0">{items}</ul>'  # type: ignore[attr-defined]
    return failure


def _line(error: FieldError, language: str | None) -> str:
    words = in_words(error.message, language)
    if not error.field:
        return words
    label = LABELS.get(error.field) if language is not None else None
    return f"{label.to(language or '') if label else error.field}: {words}"
