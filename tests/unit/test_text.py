"""Which language a reader gets."""

import pytest

from siflab.text import Text, header_language, terminal_language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        ("en-US,en;q=0.9,zh;q=0.1", "en"),
        ("en;q=0.2, zh-Hans;q=0.9", "zh"),
        ("fr-FR, zh;q=0.3", "zh"),
        ("zh;q=many", "en"),
        ("*", "en"),
    ],
)
def test_a_browser(header, language):
    assert header_language(header) == language


@pytest.mark.parametrize(
    ("env", "language"),
    [({}, "en"), ({"LANG": "zh_CN.UTF-8"}, "zh"), ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"), ({"SIFLAB_LANG": "zh"}, "zh")],
)  # fmt: skip
def test_a_terminal(monkeypatch, env, language):
    for name in ("SIFLAB_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert terminal_language() == language


def test_two_messages_in_a_row():
    both = Text("One.", "一。") + Text("Two.", "二。")
    assert (both.to("en"), both.to("zh_CN")) == ("One. Two.", "一。二。")
