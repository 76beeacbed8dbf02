"""What is typed for modes, parameters and sweeps, as a request."""

import json

import pytest

from siflab.cli import promote as command
from siflab.cli.command import main
from siflab.cli.ending import option_of
from siflab.cli.promote_arguments import split
from siflab.errors import SiflabError


@pytest.fixture
def asked(monkeypatch, viewer):
    """The request that `siflab promote` makes of some words."""

    def ask(*words):
        seen = []

        def stop(viewer, request):
            seen.append(request)
            raise SiflabError(request_seen)

        from siflab.text import Text

        request_seen = Text.plain("seen")
        monkeypatch.setattr(command.Viewer, "here", staticmethod(lambda: viewer))
        monkeypatch.setattr(command, "preflight", stop)
        main(["promote", *words])
        return seen[0] if seen else None

    return ask


GOOD = [
    (("a.ipynb",), {"mode": "notebook", "attempts": 1, "parameters": {}, "sweep": None, "arguments": ()}),
    (("a.ipynb", "-p", "epochs=3", "-p", "name=a=b"), {"parameters": {"epochs": "3", "name": "a=b"}}),
    (("a.ipynb", "--mode", "distributed", "--nodes", "2", "--processes", "4"), {"mode": "distributed", "processes": 4, "nodes": 2}),
    (("a.ipynb", "--attempts", "3", "--signal", "USR1"), {"attempts": 3, "signal": "USR1"}),
    (("a.ipynb", "--script-only"), {"script_only": True}),
    (("a.py", "--gpus", "2", "--", "--epochs", "10", "-x"), {"gpus": 2, "arguments": ("--epochs", "10", "-x")}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "expected"), GOOD)
def test_a_request(asked, words, expected):
    request = asked(*words)
    assert {name: getattr(request, name) for name in expected} == expected


def test_sweeps(asked, tmp_path):
    request = asked("a.ipynb", "--sweep", "rate=0.1, 0.2", "--sweep", 'sizes=["1,2", 3]', "--at-once", "2")
    assert request.mode == "sweep" and request.sweep.at_once == 2
    assert request.sweep.grid == {"rate": ["0.1", "0.2"], "sizes": ["1,2", 3]}
    points = tmp_path / "points.csv"
    points.write_text("rate\n0.1\n")
    assert asked("a.ipynb", "--points", str(points)).sweep.csv == "rate\n0.1\n"
    points = tmp_path / "points.json"
    points.write_text(json.dumps([{"rate": 1}]))
    assert asked("a.ipynb", "--points", str(points)).sweep.points == [{"rate": 1}]


BAD = [
    (("-p", "epochs"), "NAME=VALUE"), (("-p", "1x=2"), "NAME=VALUE"), (("--attempts", "many"), "whole number"),
    (("--attempts", "101"), "too large"), (("--at-once", "2"), "one of"), (("--at-once", "0", "--sweep", "a=1"), "too small"),
    (("--points", "no-such-file"), "cannot be read"), (("--sweep", "a=1", "--points", "x"), "not both"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "said"), BAD)
def test_what_is_not_understood_is_said(asked, capsys, words, said):
    assert asked("a.ipynb", *words) is None
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "ours", "after"),
    [
        (["promote", "a.py", "--", "x"], ["promote", "a.py"], ["x"]),
        (["promote", "--", "-a.py"], ["promote", "--", "-a.py"], []),
        (["runs", "--", "a.py"], ["runs", "--", "a.py"], []),
        (["promote", "a.py", "--", "--", "y"], ["promote", "a.py"], ["--", "y"]),
    ],
)
def test_what_is_after_the_two_dashes_is_the_scripts(words, ours, after):
    assert split(words) == (ours, after)


@pytest.mark.parametrize(
    ("field", "option"),
    [
        ("parameters.rate", "-p rate"),
        ("sweep.grid.rate", "--sweep rate"),
        ("sweep.csv.3.rate", "--points 3 rate"),
        ("sweep.csv", "--points"),
        ("sweep", "--sweep"),
        ("sweep.at_once", "--sweep"),
        ("script_only", "--script-only"),
        ("path", "FILE"),
    ],
)
def test_the_field_of_a_request_is_named_as_it_is_typed(field, option):
    assert option_of(field) == option


def test_preview_is_a_promotion_that_submits_nothing(siflab, notebook, slurm):
    path = str(notebook())
    code, out, err = siflab("preview", path, "--profile", "a100", "--attempts", "2")
    assert code == 0 and "#SBATCH --partition=gpu-a100" in out and "nothing was submitted" in err
    assert "nothing was submitted" in siflab("promote", path, "--profile", "a100", "--dry-run")[2]
    assert not slurm.scripts
