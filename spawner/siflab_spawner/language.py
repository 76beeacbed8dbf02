"""Which language a person reads. The Hub hands a spawner no request when it shows progress or a failed form again, so
the language of a user's last page is remembered, in memory."""

from typing import Any

from siflab.text import Text, header_language

_LAST: dict[str, str] = {}


def remember(user_name: str, handler: Any) -> None:
    """Take the language from the page that `handler` answers; REST requests carry none worth remembering."""
    if handler is None or is_rest(handler):
        return
    language = of_request(handler)
    if language is not None:
        _LAST[user_name] = language


def of_request(handler: Any) -> str | None:
    """``zh`` or ``en``; None where the browser does not say."""
    header = handler.request.headers.get("Accept-Language", "")
    return header_language(header) if header else None


def language_of(user_name: str) -> str | None:
    return _LAST.get(user_name)


def of_start(spawner: Any) -> str | None:
    """The language for the answer to whoever starts this session now; None (both languages) for REST requests."""
    return None if is_rest(spawner.handler) else language_of(spawner.user.name)


def is_rest(handler: Any) -> bool:
    from jupyterhub.apihandlers import APIHandler

    return isinstance(handler, APIHandler)


def in_words(text: Text, language: str | None) -> str:
    """In `language`; in both where it is not known."""
    if language is not None or text.en == text.zh:
        return text.to(language or "en")
    return f"{text.en} / {text.zh}"
