"""Ctrl-C: what it says at each moment."""

import pytest

from siflab.cli import main
from siflab.cli import promote as promoting


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("preflight", "nothing was submitted"),
        ("submit", "`siflab runs` shows whether Slurm has it"),
        ("wait_for_end", "goes on"),
    ],
)
def test_an_interrupted_promotion_says_whether_it_was_submitted(monkeypatch, capsys, at, words):
    class Run:
        id, job_id = "r1", "7"

    def interrupt(*_):
        raise KeyboardInterrupt

    for name, answer in (("preflight", []), ("submit", Run()), ("wait_for_end", Run())):
        monkeypatch.setattr(promoting, name, interrupt if name == at else lambda *_, answer=answer: answer)
    monkeypatch.setattr(promoting.Viewer, "here", lambda: None)
    monkeypatch.setattr(promoting, "_request", lambda *_: None)
    assert main(["promote", "a.ipynb", "--wait"]) == 130
    assert words in capsys.readouterr().err


def test_an_interruption_in_the_first_moment_is_no_traceback(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("siflab.cli.command.main", interrupt)
    assert main(["runs"]) == 130
    assert "interrupted" in capsys.readouterr().err
