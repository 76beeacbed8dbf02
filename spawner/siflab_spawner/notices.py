"""What happened to a user's last session, kept in memory until the next one: the spawn page says it."""

from siflab.text import Text

_last: dict[tuple[str, str], Text] = {}


def leave_notice(user_name: str, server_name: str, text: Text) -> None:
    _last[user_name, server_name] = text


def last_notice(user_name: str, server_name: str) -> Text | None:
    return _last.get((user_name, server_name))


def drop_notice(user_name: str, server_name: str) -> None:
    _last.pop((user_name, server_name), None)
