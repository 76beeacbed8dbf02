"""`siflab session`: when it ends, and more time."""

import json
from datetime import datetime, timedelta

import pytest

import siflab.cli.session as command
from siflab.cli.command import main
from siflab.errors import Invalid, NotFound
from siflab.text import Text

POSSIBLE = {"allowed": True, "why_not": None, "longest_seconds": 3600}
REFUSED = {"allowed": False, "why_not": {"en": "no more.", "zh": "不行。"}, "longest_seconds": 0}


def seen(extension, hours=1.5):
    end = datetime.now().astimezone() + timedelta(hours=hours, seconds=30)
    return {
        "in_slurm": True, "job_id": "7", "node": "gpu01", "profile": "a100-1", "ends_at": end.isoformat(),
        "extension": extension,
    }  # fmt: skip


@pytest.fixture
def asked(monkeypatch):
    """What was asked of the Hub; `asked.view` is what the session is."""

    class Asked(list):
        view = seen(POSSIBLE)

    calls = Asked()

    def extend(viewer, seconds, ends_at):
        calls.append((seconds, ends_at))
        return {**POSSIBLE, "ends_at": seen(None, 2.5)["ends_at"]}

    monkeypatch.setenv("SIFLAB_LANG", "en")
    monkeypatch.setattr(command.Viewer, "here", classmethod(lambda cls: None))
    monkeypatch.setattr(command, "session_view", lambda viewer: calls.view)
    monkeypatch.setattr(command, "extend_session", extend)
    return calls


@pytest.mark.parametrize(
    ("extension", "words"),
    [(POSSIBLE, "siflab session extend 1:00:00"), (REFUSED, "no more time: no more."), (None, "in 1:30:")],
)
def test_what_is_shown(asked, capsys, extension, words):
    asked.view = seen(extension)
    assert main(["session"]) == 0
    text = capsys.readouterr().out
    assert words in text and "job 7 on gpu01" in text and "in 1:30:" in text
    assert ("more time" in text) is (extension is not None)


def test_more_time(asked, capsys):
    assert main(["session", "extend", "1:00:00"]) == 0
    assert asked == [(3600, asked.view["ends_at"])]
    assert "in 2:30:" in capsys.readouterr().out


def test_for_programs(asked, capsys):
    assert main(["session", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["job_id"] == "7"
    assert main(["session", "extend", "30", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["allowed"] is True and asked[-1][0] == 1800


def test_outside_of_a_session(asked, capsys):
    asked.view = {"in_slurm": False}
    assert main(["session"]) == 0 and "not inside of a session" in capsys.readouterr().out


@pytest.mark.parametrize("typed", ["soon", "0", "", "-1"])
def test_what_is_no_time(asked, capsys, typed):
    assert main(["session", "extend", typed]) == 2
    assert asked == [] and capsys.readouterr().err


@pytest.mark.parametrize(("error", "code"), [(NotFound(Text.plain("off")), 3), (Invalid([]), 2)])
def test_what_the_hub_refuses(asked, capsys, monkeypatch, error, code):
    def refuse(*_):
        raise error

    monkeypatch.setattr(command, "extend_session", refuse)
    assert main(["session", "extend", "1:00:00"]) == code
